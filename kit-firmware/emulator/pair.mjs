/**
 * Two Picos on two crystals: the second one answers the first one's pings (wiring.toml).
 *
 * Neither counts in the other's cycles, so an edge of one lies anywhere in a cycle of the other, and
 * from ball to ball elsewhere. They run in turns. The second one goes first, up to the next change of
 * the ping or to its own next edge; the first one follows. So neither runs past an edge of the other,
 * but for those that no state machine makes (a wire test, a program that starts). They may come late,
 * which is said on standard error.
 */
import { LookAhead } from './look-ahead.mjs';

// how far one may run at once where nothing is known
const SLICE_CYCLES = 100000;

export class Pair {
  /**
   * @param {import('./board.mjs').Board} first the Brickwall
   * @param {import('./board.mjs').Board} second the generator
   * @param {{ping: number, reply: number, listen: number, answer: number}} pins
   * @param {number} ppm how much faster the second one's crystal is
   */
  constructor(first, second, pins, ppm) {
    this.first = first;
    this.second = second;
    this.pins = pins;
    this.speed = 1 + ppm * 1e-6;
    this.ahead = new LookAhead(first, pins.ping);
    /** Edges of the answer that the first one has not got yet: {cycle, level}. */
    this.answers = [];
    this.answering = undefined;
    this.anchor();
    first.pad_listeners.push((mask, cycle) => {
      if (mask & (1 << pins.ping)) this.ping(cycle);
    });
    second.pad_listeners.push((mask, cycle) => {
      if (!(mask & (1 << pins.answer))) return;
      this.answers.push({ cycle, level: second.level(pins.answer) });
      second.stop = true;
    });
    second.drive(pins.listen, 0);
  }

  /** From here on times are converted with the clocks that both have now. */
  anchor() {
    const { first, second } = this;
    this.clocks = [first.clk_sys, second.clk_sys];
    const [from, to] = this.at ?? [first.cycle, second.cycle];
    this.at = [first.cycle, this.at ? to + (first.cycle - from) * this.ratio : to];
    this.ratio = (this.speed * second.clk_sys) / first.clk_sys;
  }

  /** A time of the first one's in the second one's cycles. */
  toSecond(time) {
    return this.at[1] + (time - this.at[0]) * this.ratio;
  }

  toFirst(time) {
    return this.at[0] + (time - this.at[1]) / this.ratio;
  }

  /** Run both until exactly a cycle of the first one's. */
  run(limit) {
    const { first, second } = this;
    while (first.cycle < limit) {
      if (first.clk_sys !== this.clocks[0] || second.clk_sys !== this.clocks[1]) this.anchor();
      first.fabric.onTouch = () => {
        first.stop = true;
      };
      const known = this.ahead.next();
      const until = Math.min(limit, first.cycle + SLICE_CYCLES, known ?? limit);
      if (known === null) {
        // what nobody can foretell the first one lives through alone
        first.run(until);
        second.run(Math.floor(this.toSecond(first.cycle)));
        this.deliver();
        continue;
      }
      const goal = Math.max(until, first.cycle + 1);
      second.run(Math.floor(this.toSecond(goal)));
      const stop = Math.max(first.cycle + 1, Math.min(goal, this.deliver()));
      while (first.cycle < stop) first.run(stop);
    }
  }

  /** The first one's ping changed. */
  ping(cycle) {
    const { first, second, pins } = this;
    const time = this.toSecond(cycle);
    this.notice(Math.floor(time), second.cycle, 'ping');
    second.drive(pins.listen, first.level(pins.ping), Math.max(time, second.cycle));
    first.stop = true;
  }

  /** Say that an edge comes after its time, in a board that has gone on. */
  notice(cycle, now, what) {
    if (cycle < now) console.error(`emulator: an edge of the ${what} came ${now - cycle} cycles late`);
  }

  /**
   * Let the first one have the answers that are made, and know whether the wire is driven at all;
   * returns the cycle of the first of these edges.
   */
  deliver() {
    const { first, second, pins } = this;
    let earliest = Infinity;
    const answering = (second.fabric.pads.enables >>> pins.answer) & 1;
    if (answering !== this.answering) {
      first.drive(pins.reply, answering ? second.level(pins.answer) : null);
      this.answering = answering;
    }
    for (const { cycle, level } of this.answers) {
      const time = this.toFirst(cycle);
      this.notice(Math.floor(time), first.cycle, 'answer');
      if (answering) first.drive(pins.reply, level, Math.max(time, first.cycle));
      earliest = Math.min(earliest, Math.floor(time));
    }
    this.answers = [];
    return earliest;
  }
}
