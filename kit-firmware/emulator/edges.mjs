/**
 * How an edge travels from the driver of a wire to the inputs of its pads: later, and as a slope.
 *
 * A driver's edge reaches its own pad's input after `pad_ns` (its output driver and its input
 * buffer). The input at the other end of a wire gets it `wire_ns` later, and as the voltage of a
 * resistor and a capacitor, whose time constant is `rc_ns`: v(t) = v1 + (v0 - v1) exp(-t / rc). The
 * input is high from `rising` of the supply on, and low again from `falling` on: its hysteresis. A
 * pulse that turns before it got there is not seen.
 *
 * Times are cycles with fractions. A flip-flop takes what is there at the end of a cycle, so an edge
 * at 7.4 is there in cycle 7, just as one at 7.0 is.
 */
export const LIMITS = {
  pad_ns: [0, 1000],
  wire_ns: [0, 1000],
  rc_ns: [0, 1000],
  rising: [0.01, 0.99],
  falling: [0.01, 0.99],
};
const DEFAULTS = { pad_ns: 0, wire_ns: 0, rc_ns: 0, rising: 0.5, falling: 0.5 };
// far below a picosecond: takes off what floating point adds
const ROUNDING_CYCLES = 1e-6;

/** @returns {Record<string, number>} the options of `Edges`, checked */
export function parseEdges(text) {
  const given = JSON.parse(text);
  for (const [name, value] of Object.entries(given)) {
    const limits = LIMITS[name];
    if (!limits) throw new Error(`${name} is none of ${Object.keys(LIMITS).join(', ')}`);
    const [least, most] = limits;
    if (!(value >= least && value <= most)) throw new Error(`${name} is ${least} to ${most}`);
  }
  const all = { ...DEFAULTS, ...given };
  if (all.falling > all.rising) throw new Error('falling is no more than rising');
  return all;
}

export class Edges {
  /** @param {Record<string, number>} options as `parseEdges` returns them */
  constructor(options) {
    this.options = { ...DEFAULTS, ...options };
    /** Of each pad's input: the voltage `from` which it goes `to` a level, `since` a time. */
    this.slopes = Array.from({ length: 30 }, () => ({ from: 0, to: 0, since: 0 }));
    /** What the inputs see. */
    this.levels = 0;
    /** Levels on their way to an input: {time, bit, level}, the earliest first. */
    this.arriving = [];
  }

  /** The cycle of the next arrival. */
  get next() {
    return this.arriving.length ? cycleOf(this.arriving[0].time) : Infinity;
  }

  /**
   * The driver of a pad changes its level.
   * @param {number} time in cycles, with a fraction
   * @param {boolean} own the pad's own driver, and not one at the other end of a wire
   */
  change(pad, level, time, own, cycles_a_ns) {
    const { pad_ns, wire_ns, rc_ns, rising, falling } = this.options;
    const slope = this.slopes[pad];
    const begin = time + (own ? pad_ns : pad_ns + wire_ns) * cycles_a_ns;
    const rc = own ? 0 : rc_ns * cycles_a_ns;
    const before = slope.from - slope.to;
    const volts = rc ? slope.to + before * Math.exp(-Math.max(0, begin - slope.since) / rc) : slope.to;
    this.slopes[pad] = { from: volts, to: level, since: begin };
    const way = level ? (1 - volts) / (1 - rising) : volts / falling;
    const arrival = begin + (rc && way > 1 ? rc * Math.log(way) : 0);
    const bit = 1 << pad;
    // what had not got there yet has turned
    this.arriving = this.arriving.filter((other) => other.bit !== bit || other.time <= begin);
    const last = this.arriving.findLast((other) => other.bit === bit);
    if ((last ? last.level : (this.levels & bit) !== 0) === (level !== 0)) return;
    this.arriving.push({ time: arrival, bit, level: level !== 0 });
    this.arriving.sort((a, b) => a.time - b.time);
  }

  /** Take what arrives up to a cycle; returns whether anything did. */
  arrive(cycle) {
    let arrived = false;
    while (this.next <= cycle) {
      const { bit, level } = this.arriving.shift();
      this.levels = level ? this.levels | bit : this.levels & ~bit;
      arrived = true;
    }
    return arrived;
  }

  copyFrom(other) {
    this.options = other.options;
    this.slopes = other.slopes.slice();
    this.levels = other.levels;
    this.arriving = other.arriving.slice();
  }
}

function cycleOf(time) {
  return Math.floor(time + ROUNDING_CYCLES);
}
