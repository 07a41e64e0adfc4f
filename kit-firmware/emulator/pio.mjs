/**
 * One PIO block: four state machines, 32 instructions, 8 IRQ flags, the block's outputs.
 *
 * rp2040js' own PIO runs from a timer and knows neither delays nor dividers nor the input
 * synchroniser, so that it cannot serve where time is measured; this one replaces it.
 */
import { StateMachine } from './state-machine.mjs';

export class PioBlock {
  /**
   * @param {number} index 0 or 1
   * @param {boolean} skipping false steps every cycle (the reference for tests)
   */
  constructor(index, skipping = true) {
    this.index = index;
    this.skipping = skipping;
    this.instructions = new Uint16Array(32);
    /** The levels of the pins as the machines see them, synchronised or bypassing that. */
    this.inputs = 0;
    this.bypass = 0;
    this.irq = 0;
    /** The flags as they were when the cycle began: what all machines see in it. */
    this.irq_start = 0;
    this.flags_set = 0;
    this.flags_cleared = 0;
    this.fdebug = 0;
    // rp2040js' GPIO pins look for these two by these names
    this.pinValues = 0;
    this.pinDirections = 0;
    this.pins_written = false;
    this.machines = [0, 1, 2, 3].map((i) => new StateMachine(this, i));
    /** The next cycle in which a machine does something. */
    this.next = Infinity;
    /** A word was taken from a TX queue, or given to an RX queue: (machine, is_rx). */
    this.onFifo = () => {};
    /** The IRQ flags changed. */
    this.onFlags = () => {};
  }

  // --- for the machines

  setFlags(bits) {
    this.flags_set |= bits;
  }

  clearFlags(bits) {
    this.flags_cleared |= bits;
  }

  /** Set a sticky bit of FDEBUG. */
  setDebug(shift, machine) {
    this.fdebug = (this.fdebug | (1 << (shift + machine))) >>> 0;
  }

  writePins(base, count, value, directions) {
    if (count === 0) return;
    const ones = count >= 32 ? 0xffffffff : (1 << count) - 1;
    let mask = ones << base;
    let bits = (value & ones) << base;
    if (base + count > 32) {
      mask |= ones >>> (32 - base);
      bits |= (value & ones) >>> (32 - base);
    }
    if (directions) this.pinDirections = (this.pinDirections & ~mask) | bits;
    else this.pinValues = (this.pinValues & ~mask) | bits;
    this.pins_written = true;
  }

  txTaken(machine) {
    this.onFifo(machine, false);
  }

  rxGiven(machine) {
    this.onFifo(machine, true);
  }

  // --- time

  reschedule() {
    const [a, b, c, d] = this.machines;
    this.next = Math.min(a.at, b.at, c.at, d.at);
  }

  /** Let all machines do what they do in a cycle; returns whether outputs may have changed. */
  step(cycle) {
    this.irq_start = this.irq;
    this.pins_written = false;
    for (const machine of this.machines) if (machine.at === cycle) machine.step(cycle);
    if (this.flags_set | this.flags_cleared) {
      const flags = (this.irq & ~this.flags_cleared) | this.flags_set;
      this.flags_set = 0;
      this.flags_cleared = 0;
      this.changeFlags(flags, cycle + 1);
    }
    if (this.pins_written) {
      for (const { enabled, sticky } of this.machines) {
        if (enabled && sticky) this.writePins(...sticky);
      }
    }
    this.reschedule();
    return this.pins_written;
  }

  /** The flags have new values, seen from a cycle on. */
  changeFlags(flags, cycle) {
    this.irq = flags & 0xff;
    for (const machine of this.machines) if (machine.at === Infinity) machine.wake(cycle);
    this.onFlags();
  }

  /** The machines see new input levels from a cycle on. */
  setInputs(levels, cycle) {
    const changed = levels ^ this.inputs;
    if (changed === 0) return;
    for (const machine of this.machines) {
      // with the old levels up to here
      if (machine.pin_mask & changed) machine.wake(cycle);
    }
    this.inputs = levels;
    this.reschedule();
  }

  /** Something about a machine is about to change at a cycle: it is to look again. */
  touch(machine, cycle) {
    machine.wake(cycle);
    this.reschedule();
  }

  // --- copies

  copyFrom(other) {
    this.instructions.set(other.instructions);
    for (const name of [
      'inputs',
      'bypass',
      'irq',
      'fdebug',
      'pinValues',
      'pinDirections',
      'next',
    ]) {
      this[name] = other[name];
    }
    this.machines.forEach((machine, i) => machine.copyFrom(other.machines[i]));
  }

  snapshot(cycle) {
    const { irq, fdebug, pinValues, pinDirections, inputs } = this;
    const machines = this.machines.map((machine) => machine.snapshot(cycle));
    this.reschedule();
    return { irq, fdebug, pinValues, pinDirections, inputs, machines };
  }
}
