/**
 * A second Pico as the target: what link.mjs takes in place of QEMU's pipes.
 *
 * Both boards count cycles of the same length, so their common time is exact. The target runs to the
 * horizon that it is given, or to the first edge of its reply line. It may be some cycles behind that
 * edge then: to the end of an instruction, or of an exception's entry. A ping that changes meanwhile
 * changes for it at that end, before which its processor would not have looked at it.
 */
import { appendFileSync } from 'node:fs';
import { Board } from './board.mjs';
import { END, NEVER_READY, QUIT, REACHED, READY, REPLY } from './link.mjs';

const [PING_PAD, REPLY_PAD, READY_PAD] = [2, 3, 4];
const CLOCK_HZ = 125e6;
const CYCLE_NS = 8n;
const READY_CYCLES = 10 * CLOCK_HZ;

export class TargetBoard {
  /**
   * @param {import('./elf.mjs').Segment[]} program
   * @param {string} console_file what its UART says is appended there
   */
  constructor(program, console_file) {
    this.board = new Board({ program });
    this.ready = false;
    /** The cycle of the first edge of the reply line that was not told yet. */
    this.edge = null;
    this.horizon = 0;
    const { board } = this;
    board.mcu.uart[0].onByte = (byte) => appendFileSync(console_file, Buffer.of(byte));
    board.drive(PING_PAD, 0);
    board.pad_listeners.push((mask, cycle) => {
      if (mask & (1 << READY_PAD) && board.level(READY_PAD)) {
        this.ready = true;
        board.stop = true;
      }
      if (!(mask & (1 << REPLY_PAD))) return;
      this.edge = { cycle, level: board.level(REPLY_PAD) };
      board.stop = true;
    });
  }

  /** Let the target go on with this level of the ping until a horizon; QUIT ends it. */
  write(time_ns, kind, value) {
    if (kind === QUIT) return;
    const { board } = this;
    if (board.level(PING_PAD) !== value) board.drive(PING_PAD, value);
    this.horizon = Number(time_ns / CYCLE_NS);
  }

  /** What happens first: the ready line once, an edge of the reply line, or the horizon. */
  read() {
    const { board } = this;
    if (!this.ready) {
      board.run(READY_CYCLES);
      if (!this.ready) return this.message(board.cycle, END, NEVER_READY);
      if (board.clk_sys !== CLOCK_HZ) throw new Error(`the target has ${board.clk_sys} Hz`);
      this.edge = null;
      return this.message(board.cycle, READY, 0);
    }
    if (!this.edge) board.run(this.horizon);
    if (!this.edge) return this.message(board.cycle, REACHED, 0);
    const { cycle, level } = this.edge;
    this.edge = null;
    return this.message(cycle, REPLY, level);
  }

  message(cycle, kind, value) {
    return { time_ns: BigInt(cycle) * CYCLE_NS, kind, value };
  }
}
