/**
 * What the wires are: a net of resistors between pads, a target's pins, grounds and supplies.
 *
 * Where a wire is sound, `Pads` needs no volts. Here drivers, pulls and supplies have resistances, so
 * that a short, a loose plug or a missing ground has the levels that it has on a desk. Nodes are named
 * by strings: `gp2` is a pad, `gnd` and `3v3` are the Pico's own supply, `tgnd` and `t3v3` the
 * target's; any other name is a point of a wire. Kirchhoff's currents give the voltages that the nodes
 * go to. Each gets there as a resistor and a capacitor do: the resistance that it sees, and
 * CAPACITY_PF. An input between the two thresholds keeps its level.
 *
 * The target is at the nodes `t_ping` and `t_reply`. It answers a rise as `--respond answer` does.
 */
import { appendFileSync, writeFileSync } from 'node:fs';

/** Of a pad's driver at 3.3 V and 4 mA: between 50 and 100 Ω by RP2040's data sheet. */
export const DRIVER_OHM = 50;
/** Of a pad's pull, 50 to 80 kΩ, and of the target's. */
export const PULL_OHM = 50_000;
/** A pad, and its share of a wire. */
export const CAPACITY_PF = 20;
/** From the target's ground to the Pico's: what two power supplies have to the mains' earth. */
export const SUPPLIES_PF = 1000;
/** What leaks from a node that nothing drives. */
const LEAK_OHM = 5e8;
/** Of a supply. */
const SUPPLY_OHM = 0.1;
export const SUPPLY_V = 3.3;
/** Volts from which on an input is high, and up to which it is low. */
export const RISING_V = 1.8;
export const FALLING_V = 1.2;
const SUPPLIES = new Set(['tgnd', 't3v3']);
const PAD = /^gp(\d+)$/;

/** @returns {Record<string, any>} the net, checked */
export function parseNet(text) {
  const given = JSON.parse(text);
  const { resistors, rise, width } = given;
  if (!Array.isArray(resistors)) throw new Error('resistors is a list of [node, node, ohm]');
  for (const [a, b, ohm, loose] of resistors) {
    if (typeof a !== 'string' || typeof b !== 'string' || !(ohm > 0)) {
      throw new Error(`${JSON.stringify([a, b, ohm])} is not [node, node, ohm]`);
    }
    if (loose && !(loose.period_us > loose.open_us && loose.open_us > 0)) {
      throw new Error('a loose contact has a period_us, and an open_us that is shorter');
    }
  }
  if (!(rise > 0 && width > 0)) throw new Error('rise and width are cycles');
  return given;
}

/** Solve a x = b, both of which are changed. */
function solve(a, b) {
  const size = b.length;
  for (let i = 0; i < size; i++) {
    let pivot = i;
    for (let row = i + 1; row < size; row++) {
      if (Math.abs(a[row][i]) > Math.abs(a[pivot][i])) pivot = row;
    }
    [a[i], a[pivot]] = [a[pivot], a[i]];
    [b[i], b[pivot]] = [b[pivot], b[i]];
    for (let row = i + 1; row < size; row++) {
      const factor = a[row][i] / a[i][i];
      if (factor === 0) continue;
      for (let column = i; column < size; column++) a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let column = i + 1; column < size; column++) b[i] -= a[i][column] * b[column];
    b[i] /= a[i][i];
  }
  return b;
}

export class Net {
  /**
   * @param {Record<string, any>} options as `parseNet` returns them
   * @param {(cycles: number, action: () => void) => void} after does something so much later
   */
  constructor({ resistors, rise, width, racquet = true, log = null }, after) {
    Object.assign(this, { resistors, rise, width, racquet, log, after });
    if (log) writeFileSync(log, '');
    const names = new Set(['t_ping', 't_reply', 'tgnd', 't3v3', ...resistors.flatMap(([a, b]) => [a, b])]);
    for (const fixed of ['gnd', '3v3']) names.delete(fixed);
    /** The nodes whose voltages are asked for: name -> its number. */
    this.nodes = new Map([...names].map((name, i) => [name, i]));
    this.capacities = [...names].map((name) => (SUPPLIES.has(name) ? SUPPLIES_PF : CAPACITY_PF));
    /** Of each node: the voltage `from` which it goes `to` another one, `since` a cycle. */
    this.slopes = [...names].map(() => ({ from: 0, to: 0, since: 0, rc: 1 }));
    /** Pads, and the target's ping, that look at a node. */
    this.inputs = [...names].flatMap((name, node) => {
      const pad = PAD.exec(name);
      if (!pad && name !== 't_ping') return [];
      return [{ node, pad: pad ? Number(pad[1]) : null, level: false }];
    });
    /** The pads among them, as a mask. */
    this.mask = this.inputs.reduce((mask, { pad }) => (pad === null ? mask : mask | (1 << pad)), 0);
    /** The target's reply, which it drives. */
    this.replies = false;
    /** The cycle in which an input changes, or a loose contact. */
    this.next = Infinity;
    /** What the pads did when the voltages were computed last. */
    this.computed = '';
  }

  /** Return whether a contact is open in a cycle, and until when. */
  contact(loose, cycle, cycles_a_us) {
    if (!loose) return { open: false, until: Infinity };
    const [period, open] = [loose.period_us * cycles_a_us, loose.open_us * cycles_a_us];
    const begin = Math.floor(cycle / period) * period;
    const opens = begin + period - open;
    return cycle < opens
      ? { open: false, until: Math.ceil(opens) }
      : { open: true, until: Math.ceil(begin + period) };
  }

  /** The voltages that all nodes go to, and the resistance that each one sees. */
  solution(pads, open) {
    const size = this.nodes.size;
    const conductances = Array.from({ length: size }, () => new Float64Array(size));
    const currents = new Float64Array(size);
    const fixed = { gnd: 0, '3v3': SUPPLY_V };
    const join = (a, b, ohm, volts = 0) => {
      // a current from b to a, too: `a` goes to `volts` above b
      for (const [node, other, sign] of [
        [a, b, 1],
        [b, a, -1],
      ]) {
        const i = this.nodes.get(node);
        if (i === undefined) continue;
        conductances[i][i] += 1 / ohm;
        currents[i] += (sign * volts) / ohm;
        const j = this.nodes.get(other);
        if (j === undefined) currents[i] += fixed[other] / ohm;
        else conductances[i][j] -= 1 / ohm;
      }
    };
    for (const name of this.nodes.keys()) join(name, 'gnd', LEAK_OHM);
    this.resistors.forEach(([a, b, ohm], i) => {
      if (!open[i]) join(a, b, ohm);
    });
    for (const { pad } of this.inputs) {
      if (pad === null) continue;
      const bit = 1 << pad;
      const name = `gp${pad}`;
      if (pads.enables & bit) join(name, pads.outputs & bit ? '3v3' : 'gnd', DRIVER_OHM);
      else {
        if (pads.pull_ups & bit) join(name, '3v3', PULL_OHM);
        if (pads.pull_downs & bit) join(name, 'gnd', PULL_OHM);
      }
    }
    join('t3v3', 'tgnd', SUPPLY_OHM, SUPPLY_V);
    join('t_ping', 'tgnd', PULL_OHM);
    if (this.racquet) join('t_reply', this.replies ? 't3v3' : 'tgnd', DRIVER_OHM);
    else join('t_reply', 'tgnd', PULL_OHM);
    const copy = () => conductances.map((row) => Float64Array.from(row));
    const volts = solve(copy(), currents);
    const ohms = volts.map((_, i) => {
      const one = new Float64Array(size);
      one[i] = 1;
      return solve(copy(), one)[i];
    });
    return { volts, ohms };
  }

  voltage(node, cycle) {
    const { from, to, since, rc } = this.slopes[node];
    return to + (from - to) * Math.exp(-(cycle - since) / rc);
  }

  /** Bring the inputs up to a cycle; returns the levels of the net's pads. */
  settle(pads, cycle) {
    const contacts = this.resistors.map(([, , , loose]) =>
      this.contact(loose, cycle, pads.cycles_a_ns * 1000),
    );
    const open = contacts.map((contact) => contact.open);
    const { enables, outputs, pull_ups, pull_downs } = pads;
    const mine = [enables, outputs & enables, pull_ups, pull_downs].map((bits) => bits & this.mask);
    const computed = `${mine} ${this.replies} ${open}`;
    if (computed !== this.computed) {
      this.computed = computed;
      const { volts, ohms } = this.solution(pads, open);
      this.slopes = this.slopes.map((_, node) => ({
        from: this.voltage(node, cycle),
        to: volts[node],
        since: cycle,
        rc: Math.max(1e-3, ohms[node] * this.capacities[node] * 1e-3 * pads.cycles_a_ns),
      }));
    }
    this.next = Math.min(...contacts.map((contact) => contact.until));
    const ground = this.nodes.get('tgnd');
    let levels = 0;
    for (const input of this.inputs) {
      // the target's levels are those above its own ground; a flip-flop takes what is there at the
      // end of a cycle
      const base = input.pad === null ? this.voltage(ground, cycle + 1) : 0;
      const volts = this.voltage(input.node, cycle + 1) - base;
      const { to, since, rc, from } = this.slopes[input.node];
      const before = input.level;
      if (volts >= RISING_V - 1e-6) input.level = true;
      else if (volts <= FALLING_V + 1e-6) input.level = false;
      const threshold = base + (input.level ? FALLING_V : RISING_V);
      if (input.level ? to < threshold : to > threshold) {
        const crossing = Math.floor(since + rc * Math.log((from - to) / (threshold - to)));
        this.next = Math.min(this.next, Math.max(cycle + 1, crossing));
      }
      if (input.pad !== null) levels |= input.level ? 1 << input.pad : 0;
      else if (input.level && !before) this.pinged();
    }
    return levels;
  }

  /** A ping reached the target: a Racquet answers. */
  pinged() {
    if (!this.racquet) return;
    if (this.log) appendFileSync(this.log, `${this.rise} ${this.rise + this.width}\n`);
    this.after(this.rise, () => {
      this.replies = true;
    });
    this.after(this.rise + this.width, () => {
      this.replies = false;
    });
  }
}
