import { Edges } from './edges.mjs';

/**
 * The 30 pads: who drives them, the wires between them, and the input synchronisers behind them.
 *
 * An output that changes in cycle n changes its pad, and all pads wired to it, from n + 1 on. The
 * outside world drives through a resistor, and yields to an output of the chip. What
 * is behind a synchroniser sees it SYNCHRONISER_CYCLES later, what bypasses it at once. With `edges`
 * it takes its time to the inputs of the pads, too (edges.mjs).
 */
export const SYNCHRONISER_CYCLES = 2;
export const PAD_COUNT = 30;

const ALL = 0x3fffffff;

/** Apply the override functions of the IO bank to a mask of signals. */
export function override(signals, [, inverted, low, high]) {
  return (((signals ^ inverted) & ~low) | high) & ALL;
}

export class Pads {
  constructor() {
    // what the chip puts out: levels and where it drives at all
    this.outputs = 0;
    this.enables = 0;
    this.pull_ups = 0;
    this.pull_downs = 0;
    /** Pads whose input buffer is on. */
    this.readable = ALL;
    /** Per override (1 inverted, 2 low, 3 high) the pads whose input has it. */
    this.input_overrides = [0, 0, 0, 0];
    // what the outside world drives
    this.driven = 0;
    this.driven_levels = 0;
    /** Groups of pads joined by wires, as masks. */
    this.wires = [];
    /** Pads that belong to no group. */
    this.single = ALL;
    this.levels = 0;
    /** What the chip sees of them. */
    this.inputs = 0;
    this.synchronised = 0;
    /** Levels on their way through the synchronisers: [cycle, levels], the earliest first. */
    this.on_the_way = [];
    /** Pads on which two drivers disagreed. */
    this.conflicts = 0;
    /** How edges travel to the inputs; null: at once. @type {Edges | null} */
    this.edges = null;
    /** What some pads are wired to, in ohms; null: `wires` are all. @type {import('./net.mjs').Net | null} */
    this.net = null;
    this.cycles_a_ns = 0.125;
    /** How far into its cycle the outside world changed a pad; in cycles. */
    this.fractions = new Float64Array(PAD_COUNT);
  }

  /** The levels that the input buffers see. */
  get arrived() {
    return this.edges ? this.edges.levels : this.levels;
  }

  /** Send changed levels on their way to the inputs. */
  travel(changed, cycle) {
    for (let pad = 0; pad < PAD_COUNT; pad++) {
      const bit = 1 << pad;
      if (!(changed & bit)) continue;
      const time = cycle + (this.driven & bit ? this.fractions[pad] : 0);
      const own = (this.enables & bit) !== 0;
      this.edges.change(pad, this.levels & bit ? 1 : 0, time, own, this.cycles_a_ns);
    }
  }

  /** Join two pads by a wire. */
  connect(a, b) {
    let group = (1 << a) | (1 << b);
    this.wires = this.wires.filter((wire) => {
      if (!(wire & group)) return true;
      group |= wire;
      return false;
    });
    this.wires.push(group);
    this.single &= ~group;
  }

  /**
   * The outside world drives a pad (0 or 1), or lets go of it (null).
   * @param {number} fraction how far into the cycle
   */
  drive(pad, level, fraction = 0) {
    const bit = 1 << pad;
    this.fractions[pad] = fraction;
    this.driven = level === null ? this.driven & ~bit : this.driven | bit;
    this.driven_levels = level ? this.driven_levels | bit : this.driven_levels & ~bit;
  }

  /** Compute the levels of all pads in a cycle; returns the mask of those that changed. */
  update(cycle) {
    const drivers = this.enables | this.driven;
    const ones = (this.enables & this.outputs) | (this.driven & this.driven_levels);
    const zeros = (this.enables & ~this.outputs) | (this.driven & ~this.driven_levels);
    // the outside world is behind its resistor: where both drive, a pad sees its own output
    const weak = this.driven & ~this.enables;
    const strong_zeros = this.enables & ~this.outputs;
    const weak_zeros = weak & ~this.driven_levels;
    const seen_ones = (this.enables & this.outputs) | (weak & this.driven_levels);
    // an undriven pad without pulls, or with both, keeps its level
    const ups = this.pull_ups & ~this.pull_downs;
    const kept = this.levels & ~(this.pull_ups ^ this.pull_downs);
    let levels = this.single & (seen_ones | (~drivers & (ups | kept)));
    let conflicts = this.single & ones & zeros;
    for (const wire of this.wires) {
      let high;
      if (drivers & wire) {
        high = ((this.enables & wire ? strong_zeros : weak_zeros) & wire) === 0;
        if (zeros & wire && ones & wire) conflicts |= wire;
      } else if (ups & wire) high = !(this.pull_downs & ~this.pull_ups & wire);
      else if (this.pull_downs & ~this.pull_ups & wire) high = false;
      else high = (this.levels & wire) !== 0;
      if (high) levels |= wire;
    }
    this.conflicts = conflicts;
    if (this.net) levels = (levels & ~this.net.mask) | this.net.settle(this, cycle);
    const changed = this.levels ^ levels;
    this.levels = levels;
    return changed;
  }

  overrideInputs(levels) {
    return override(levels, this.input_overrides);
  }

  copyFrom(other) {
    const edges = other.edges && (this.edges ?? new Edges(other.edges.options));
    Object.assign(this, other);
    this.on_the_way = other.on_the_way.slice();
    this.edges = edges;
    edges?.copyFrom(other.edges);
  }
}
