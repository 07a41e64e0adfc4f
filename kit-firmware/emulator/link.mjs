/**
 * The two wires to a target in QEMU: two emulators that run in turns, on one common time.
 *
 * QEMU stops at READY, at every edge of its reply and at the horizon it was given, and waits for
 * GO. The horizon is the next change of the ping pad if no reply edge comes before, found by
 * looking ahead with a copy of pads and PIO. So neither side ever runs past an edge of the other,
 * with one exception: while the serve machine has no word, nobody can say when the ping will
 * change. Then the board leads until it is known; a reply edge in what it has already lived
 * through comes late, and is never silent. A board that only listens never leads: its ping stays.
 *
 * Messages of 16 bytes: u64 time_ns, u32 kind, u32 value (little endian).
 */
import { LookAhead } from './look-ahead.mjs';
import { EndOfPipe, readExactly, writeAll } from './pipes.mjs';

const MESSAGE_SIZE = 16;
export const READY = 1;
export const REPLY = 2;
export const REACHED = 3;
export const END = 4;
const GO = 1;
export const QUIT = 2;
// what END gives as its reason: as in wire.py
const TARGET_ENDED = 2;
export const NEVER_READY = 3;
const ENDINGS = { [TARGET_ENDED]: 'target_ended', [NEVER_READY]: 'never_ready' };

const NS_PER_SECOND = 1000000000n;
// how far QEMU may run at once while nothing can change the ping
const LISTEN_NS = 1000000n;

/** Common time: cycles of clk_sys as nanoseconds. */
export class CommonTime {
  constructor(cycle, time_ns, hertz) {
    this.cycle = cycle;
    this.time_ns = BigInt(time_ns);
    this.hertz = BigInt(hertz);
  }

  /** When a cycle begins, rounded up. */
  of(cycle) {
    const parts = BigInt(cycle - this.cycle) * NS_PER_SECOND;
    return this.time_ns + (parts + this.hertz - 1n) / this.hertz;
  }

  /** The first cycle whose time is not before another. */
  cycleAt(time_ns) {
    const since = time_ns - this.time_ns;
    if (since <= 0n) return this.cycle;
    return this.cycle + Number(((since - 1n) * this.hertz) / NS_PER_SECOND) + 1;
  }
}

/** The pipes from and to QEMU. */
export class QemuPipes {
  constructor(in_fd, out_fd) {
    this.in_fd = in_fd;
    this.out_fd = out_fd;
  }

  read() {
    const message = readExactly(this.in_fd, MESSAGE_SIZE);
    return {
      time_ns: message.readBigUInt64LE(0),
      kind: message.readUInt32LE(8),
      value: message.readUInt32LE(12),
    };
  }

  write(time_ns, kind, value) {
    const message = Buffer.alloc(MESSAGE_SIZE);
    message.writeBigUInt64LE(time_ns, 0);
    message.writeUInt32LE(kind, 8);
    message.writeUInt32LE(value, 12);
    writeAll(this.out_fd, message);
  }
}

export class Link {
  /**
   * @param {import('./board.mjs').Board} board
   * @param {{ping: number, reply: number}} pins
   * @param {{read: Function, write: Function}} pipes as QemuPipes, or a TargetBoard
   */
  constructor(board, { ping, reply }, pipes) {
    this.board = board;
    this.ping = ping;
    this.reply = reply;
    this.pipes = pipes;
    /** Bytes to send when the target is ready; null until the host has given them. */
    this.at_ready = null;
    /** @type {CommonTime | null} null before READY and after the target's end. */
    this.time = null;
    this.ended = false;
    /** The next GO is the answer to READY. */
    this.first = false;
    /** The play that begins at READY serves nothing. */
    this.listens = false;
    /** How far QEMU has come; it waits there for GO. */
    this.qemu_ns = 0n;
    /** The cycle up to which the board is still to follow. */
    this.follow_until = 0;
    /** The level of the ping as QEMU knows it, and changes it does not know of yet. */
    this.ping_level = 0;
    this.ping_changes = [];
    /** Called with what else is to be said: why the target has ended, a missed horizon. */
    this.onNote = () => {};
    this.ahead = new LookAhead(board, ping);
    board.drive(reply, 0);
    board.pad_listeners.push((mask, cycle) => {
      if (!this.time || !(mask & (1 << ping))) return;
      this.ping_changes.push({ time_ns: this.time.of(cycle), level: board.level(ping) });
      board.stop = true;
    });
  }

  /** Run the board until a cycle, or until `enough()`. */
  run(limit, enough) {
    const { board } = this;
    if (this.at_ready && !this.time && !this.ended) this.awaitReady();
    while (board.cycle < limit && !enough()) {
      if (!this.time) board.run(limit);
      else if (board.cycle < this.follow_until) board.run(Math.min(limit, this.follow_until));
      else this.continueQemu(limit);
    }
  }

  /** The target says that it is ready to play: common time begins. */
  awaitReady() {
    const { board } = this;
    const message = this.receive();
    if (message.kind === END) {
      this.end(message.value);
      return;
    }
    if (message.kind !== READY) throw new Error(`QEMU sent ${message.kind} before it was ready`);
    this.time = new CommonTime(board.cycle, message.time_ns, board.clk_sys);
    this.qemu_ns = message.time_ns;
    this.follow_until = board.cycle;
    this.first = true;
    this.ping_level = board.level(this.ping);
    board.mcu.addClockListener((hertz) => {
      if (this.time) this.time = new CommonTime(board.cycle, this.time.of(board.cycle), hertz);
    });
    board.fabric.onTouch = () => {
      board.stop = true;
    };
    this.listens = Buffer.from(this.at_ready).includes('loop=listen');
    board.send(this.at_ready);
    this.at_ready = null;
  }

  /** QEMU waits, and the board has come to where QEMU is: agree on a horizon, and let it run. */
  continueQemu(limit) {
    const { board } = this;
    while (this.ping_changes.length && this.ping_changes[0].time_ns <= this.qemu_ns) {
      this.ping_level = this.ping_changes.shift().level;
    }
    // first of all comes what is so since before READY: a reply line that is up
    const first = this.first;
    this.first = false;
    const known = first ? this.qemu_ns : this.ping_changes[0]?.time_ns;
    const until = this.listens ? this.qemu_ns + LISTEN_NS : null;
    const horizon_ns = known ?? this.nextPingChange() ?? until;
    if (horizon_ns === null) {
      // lead until somebody gives the machines something to do
      board.run(limit);
      return;
    }
    this.pipes.write(horizon_ns, GO, this.ping_level);
    const message = this.receive();
    this.qemu_ns = message.time_ns;
    const cycle = this.time.cycleAt(message.time_ns);
    if (message.kind === END) {
      this.end(message.value);
      return;
    }
    const missed_ns = message.time_ns - horizon_ns;
    if (message.kind === REACHED && missed_ns > 0n && !first) {
      this.onNote(`QEMU ran ${missed_ns} ns past the horizon`);
    }
    if (message.kind === REPLY) this.replyEdge(cycle, message.value);
    else if (message.kind !== REACHED)
      throw new Error(`QEMU sent a message of kind ${message.kind}`);
    this.follow_until = cycle;
  }

  replyEdge(cycle, level) {
    const { board } = this;
    if (cycle >= board.cycle) {
      board.drive(this.reply, level, cycle);
      return;
    }
    board.drive(this.reply, level, board.cycle);
    this.follow_until = board.cycle;
    const late_ns = this.time.of(board.cycle) - this.qemu_ns;
    this.onNote(`late edge: the reply line changed ${late_ns} ns before the board was told`);
  }

  /** Until when the ping surely stays as it is if nobody touches the machines; null: until now. */
  nextPingChange() {
    const cycle = this.ahead.next();
    return cycle === null ? null : this.time.of(cycle);
  }

  receive() {
    try {
      return this.pipes.read();
    } catch (error) {
      if (!(error instanceof EndOfPipe)) throw error;
      return { kind: END, time_ns: this.qemu_ns, value: TARGET_ENDED };
    }
  }

  /** The target plays no more: the board goes on alone. */
  end(reason) {
    this.ended = true;
    this.time = null;
    this.board.fabric.onTouch = () => {};
    this.onNote(ENDINGS[reason] ?? `the target ended with ${reason}`);
  }

  /** Let QEMU go, too. */
  quit() {
    try {
      this.pipes.write(0n, QUIT, 0);
    } catch (error) {
      // it has gone already
      if (error.code !== 'EPIPE') throw error;
    }
  }
}
