/**
 * What runs in lock-step with the cycle counter: pads, both PIO blocks, DMA, alarms, events.
 *
 * A cycle has two halves. First comes what takes effect at its beginning (alarms, events from
 * outside, pads that have changed, levels that leave the synchronisers), then what is done in it
 * (an instruction of each state machine, then at most one DMA transfer). The processor's
 * instructions that begin in a cycle come between the two.
 *
 * Nothing is done for cycles in which nothing happens: `next` is the cycle that the processor may
 * not pass without calling `advance`.
 */
import { Pads, SYNCHRONISER_CYCLES } from './pads.mjs';
import { PioBlock } from './pio.mjs';

export class Fabric {
  constructor({ skipping = true } = {}) {
    this.pads = new Pads();
    this.pio = [new PioBlock(0, skipping), new PioBlock(1, skipping)];
    /** @type {{next: number, step: (cycle: number) => void} | null} */
    this.dma = null;
    /** @type {import('./clock.mjs').CycleClock | null} */
    this.clock = null;
    /** The cycle that is being emulated. */
    this.now = 0;
    /** Whether the second half of that cycle has begun: a change counts from the next one on. */
    this.late = false;
    this.next = Infinity;
    /** The cycle from which on changed outputs count. */
    this.pads_at = Infinity;
    /** Events from outside: {cycle, action}, the earliest first. */
    this.events = [];
    /** Collects what the blocks put out into pads.outputs and pads.enables. */
    this.collectOutputs = () => {
      const [a, b] = this.pio;
      this.pads.outputs = a.pinValues | b.pinValues;
      this.pads.enables = a.pinDirections | b.pinDirections;
    };
    /** The processor or DMA did something to a PIO block that a copy does not know of. */
    this.onTouch = () => {};
    /** Two drivers disagree on some pads, which are low then: (mask). */
    this.onConflict = () => {};
    /** The levels of some pads changed: (mask, cycle). */
    this.onPads = () => {};
  }

  /** The first cycle in which the machines can see what is being done now. */
  get visible() {
    return this.late ? this.now + 1 : this.now;
  }

  /** Do something at the beginning of a cycle. */
  at(cycle, action) {
    let i = this.events.length;
    while (i > 0 && this.events[i - 1].cycle > cycle) i--;
    this.events.splice(i, 0, { cycle, action });
    this.reschedule();
  }

  /** Outputs changed in this cycle: the pads follow at the beginning of the next one. */
  outputsChanged() {
    this.pads_at = Math.min(this.pads_at, this.now + 1);
    this.reschedule();
  }

  /** The outside world drives a pad from this cycle on (first half only). */
  drive(pad, level, fraction = 0) {
    this.pads.drive(pad, level, fraction);
    this.pads_at = Math.min(this.pads_at, this.now);
    this.reschedule();
  }

  get nextEdge() {
    const { pads } = this;
    return Math.min(
      this.pads_at,
      pads.on_the_way.length ? pads.on_the_way[0][0] : Infinity,
      pads.edges ? pads.edges.next : Infinity,
      pads.net ? pads.net.next : Infinity,
      this.events.length ? this.events[0].cycle : Infinity,
      this.clock ? this.clock.next : Infinity,
    );
  }

  get nextStep() {
    return Math.min(this.pio[0].next, this.pio[1].next, this.dma ? this.dma.next : Infinity);
  }

  reschedule() {
    this.next = Math.min(this.nextEdge, this.nextStep + 1);
  }

  /** Do everything that comes before the processor's instruction of a cycle. */
  advance(cycle) {
    for (;;) {
      const edge = this.nextEdge;
      const step = this.nextStep;
      if (edge <= step) {
        if (edge > cycle) break;
        this.now = edge;
        this.late = false;
        this.begin(edge);
      } else {
        if (step >= cycle) break;
        this.now = step;
        this.late = true;
        this.step(step);
      }
    }
    this.now = cycle;
    this.late = false;
    this.reschedule();
  }

  /** The first half of a cycle. */
  begin(cycle) {
    if (this.clock && this.clock.next <= cycle) this.clock.fire(cycle);
    while (this.events.length && this.events[0].cycle <= cycle) this.events.shift().action(cycle);
    const { pads } = this;
    if (pads.net && pads.net.next <= cycle) this.pads_at = Math.min(this.pads_at, cycle);
    while (this.pads_at <= cycle) {
      this.pads_at = Infinity;
      this.collectOutputs();
      const conflicts = pads.conflicts;
      const changed = pads.update(cycle);
      if (pads.conflicts & ~conflicts) this.onConflict(pads.conflicts);
      if (pads.edges) pads.travel(changed, cycle);
      this.inputsChanged(cycle);
      // may drive pads in this same cycle
      if (changed) this.onPads(changed, cycle);
    }
    if (pads.edges?.arrive(cycle)) this.inputsChanged(cycle);
    let arrived = false;
    while (pads.on_the_way.length && pads.on_the_way[0][0] <= cycle) {
      pads.synchronised = pads.on_the_way.shift()[1];
      arrived = true;
    }
    if (arrived) this.feedInputs(cycle);
  }

  /** What the chip sees of the pads may have changed. */
  inputsChanged(cycle) {
    const { pads } = this;
    const inputs = pads.overrideInputs(pads.arrived & pads.readable);
    if (inputs === pads.inputs) return;
    pads.inputs = inputs;
    pads.on_the_way.push([cycle + SYNCHRONISER_CYCLES, inputs]);
    this.feedInputs(cycle);
  }

  feedInputs(cycle) {
    const { inputs, synchronised } = this.pads;
    for (const block of this.pio) {
      block.setInputs((inputs & block.bypass) | (synchronised & ~block.bypass), cycle);
    }
  }

  /** The second half of a cycle. */
  step(cycle) {
    for (const block of this.pio) {
      if (block.next === cycle && block.step(cycle)) {
        this.pads_at = Math.min(this.pads_at, cycle + 1);
      }
    }
    if (this.dma && this.dma.next === cycle) this.dma.step(cycle);
  }

  /** A copy of pads and PIO blocks alone: what happens if nobody else does anything. */
  copyElectrics(target = new Fabric()) {
    target.pads.copyFrom(this.pads);
    target.pio.forEach((block, i) => block.copyFrom(this.pio[i]));
    target.now = this.now;
    target.late = this.late;
    target.pads_at = this.pads_at;
    target.reschedule();
    return target;
  }
}
