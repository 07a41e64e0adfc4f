/** When a pad will change at the earliest, found with a copy of pads and PIO. */
import { Fabric } from './fabric.mjs';

// an end for looking ahead at machines that go on without touching the pad
const STEPS = 20000;

export class LookAhead {
  /** @param {import('./board.mjs').Board} board @param {number} pad that PIO drives */
  constructor(board, pad) {
    this.board = board;
    this.pad = pad;
    this.copy = new Fabric();
    this.copy.collectOutputs = () => board.collectOutputs(this.copy);
  }

  /**
   * The cycle until which the pad surely stays as it is if nobody touches the machines: that of its
   * next change, or that in which the machines that drive it have nothing left to do. Null if that
   * is now.
   */
  next() {
    const { board, copy, pad } = this;
    const driver = board.pioDriving(pad);
    if (driver === null) return null;
    board.fabric.copyElectrics(copy);
    let change = null;
    copy.onPads = (mask, cycle) => {
      if (change === null && mask & (1 << pad)) change = cycle;
    };
    for (let step = 0; step < STEPS; step++) {
      if (change !== null) return change;
      // the other block only looks on, and its clocks never stop
      const next = Math.min(copy.pio[driver].next + 1, copy.nextEdge);
      if (next === Infinity) return copy.now > board.cycle ? copy.now : null;
      copy.advance(next);
    }
    // up to here nothing changes
    return copy.now;
  }
}
