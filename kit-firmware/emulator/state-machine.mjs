/**
 * One PIO state machine, exact to the cycle, that does not step while it only counts or waits.
 *
 * A machine knows the next cycle in which it does something (`at`). While it is stalled that is
 * never, until what it waits for changes. While it runs in a loop of jumps that can only end
 * when a counter reaches 0 or its pin changes ("parked"), it is the cycle in which the counter
 * ends; where the machine is in the loop at any other cycle is computed when somebody asks.
 * With `block.skipping` off every cycle is stepped instead: the reference the tests compare with.
 */
import { Fifo } from './fifo.mjs';

const JMP = 0;
const WAIT = 1;
const IN = 2;
const OUT = 3;
const PUSH_PULL = 4;
const MOV = 5;
const IRQ = 6;

// the longest loop that is looked for
const LOOP_MAX = 8;

// ways to end an instruction
const STALL = 0;
const NEXT = 1;
const JUMPED = 2;
const AGAIN = 3; // stalled for one tick only

function reverse(word) {
  word = ((word >>> 1) & 0x55555555) | ((word & 0x55555555) << 1);
  word = ((word >>> 2) & 0x33333333) | ((word & 0x33333333) << 2);
  word = ((word >>> 4) & 0x0f0f0f0f) | ((word & 0x0f0f0f0f) << 4);
  word = ((word >>> 8) & 0x00ff00ff) | ((word & 0x00ff00ff) << 8);
  return ((word >>> 16) | (word << 16)) >>> 0;
}

const rotateRight = (word, by) => ((word >>> by) | (by ? word << (32 - by) : 0)) >>> 0;
const lowBits = (count) => (count >= 32 ? 0xffffffff : (1 << count) - 1) >>> 0;

export class StateMachine {
  /** @param {import('./pio.mjs').PioBlock} block */
  constructor(block, index) {
    this.block = block;
    this.index = index;
    this.enabled = false;
    this.x = 0;
    this.y = 0;
    this.pc = 0;
    this.isr = 0;
    this.isr_count = 0;
    this.osr = 0;
    this.osr_count = 32;
    this.tx = new Fifo();
    this.rx = new Fifo();
    /** An instruction from elsewhere than the memory (OUT EXEC, MOV EXEC, INSTR), or -1. */
    this.exec = -1;
    /** Whether that one came from the INSTR register: runs in a disabled machine, too. */
    this.forced = false;
    /** An `irq wait` has set its flag and waits for somebody to clear it. */
    this.irq_set = false;
    /** The side-set of a stalled instruction has taken place: it does so once, at its start. */
    this.side_done = false;
    /** Pins that OUT_STICKY keeps asserting: [mask, value, into directions], or null. */
    this.sticky = null;

    /** The next cycle in which this machine does something. */
    this.at = Infinity;
    /** The cycle of its next clock tick (may be before `at` while it waits), and 1/256 of it. */
    this.tick_cycle = 0;
    this.tick_part = 0;
    /** When it was disabled; while it is, ticks count as if it were still that cycle. */
    this.paused_at = 0;
    /** 1/256 cycles from tick to tick. */
    this.divider = 256;
    /** Input pins whose change wakes it. */
    this.pin_mask = 0;

    this.parked = false;
    this.park_x = 0;
    this.park_y = 0;
    this.park_ticks = 0;
    this.park_passes = 0;
    this.park_x_step = 0;
    this.park_y_step = 0;

    this.setExecctrl(0x0001f000);
    this.setShiftctrl(0x000c0000);
    this.setPinctrl(0x14000000);
  }

  // --- registers

  setExecctrl(value) {
    this.execctrl = (value & 0x7fffffff) >>> 0;
    this.wrap_bottom = (value >>> 7) & 31;
    this.wrap_top = (value >>> 12) & 31;
    this.jmp_pin = (value >>> 24) & 31;
    this.side_optional = (value & 0x40000000) !== 0;
    this.side_directions = (value & 0x20000000) !== 0;
    this.inline_enable = (value & 0x40000) !== 0;
    this.inline_enable_bit = (value >>> 19) & 31;
    if (!(value & 0x20000)) this.sticky = null;
  }

  setShiftctrl(value) {
    const changed = ((this.shiftctrl ?? value) ^ value) & 0xc0000000;
    this.shiftctrl = value >>> 0;
    this.autopush = (value & 0x10000) !== 0;
    this.autopull = (value & 0x20000) !== 0;
    this.in_right = (value & 0x40000) !== 0;
    this.out_right = (value & 0x80000) !== 0;
    this.push_threshold = (value >>> 20) & 31 || 32;
    this.pull_threshold = (value >>> 25) & 31 || 32;
    if (changed) {
      // joining gives the words of one queue to the other; both become empty
      const join_tx = (value & 0x40000000) !== 0;
      const join_rx = (value & 0x80000000) !== 0;
      this.tx.clear(join_rx ? 0 : join_tx ? 8 : 4);
      this.rx.clear(join_tx ? 0 : join_rx ? 8 : 4);
    }
  }

  setPinctrl(value) {
    this.pinctrl = value >>> 0;
    this.out_base = value & 31;
    this.set_base = (value >>> 5) & 31;
    this.side_base = (value >>> 10) & 31;
    this.in_base = (value >>> 15) & 31;
    this.out_count = (value >>> 20) & 63;
    this.set_count = (value >>> 26) & 7;
    this.side_count = value >>> 29;
  }

  /** CTRL.SM_ENABLE */
  setEnabled(enabled, cycle) {
    if (enabled === this.enabled) return;
    this.settle(cycle);
    this.enabled = enabled;
    if (enabled) {
      // what was left of a delay when the machine was stopped
      this.tick_cycle += cycle - this.paused_at;
      this.advanceClockTo(cycle);
      this.at = this.forced ? cycle : this.tick_cycle;
    } else {
      this.advanceClockTo(cycle);
      this.paused_at = cycle;
      if (!this.forced) this.at = Infinity;
    }
  }

  /** CTRL.CLKDIV_RESTART */
  restartClock(cycle) {
    this.settle(cycle);
    const now = this.enabled ? cycle : this.paused_at;
    const delay = Math.max(0, this.ticksBack(now));
    this.tick_cycle = now;
    this.tick_part = 0;
    this.advanceTicks(delay);
    if (this.enabled && this.at !== Infinity && !this.forced) this.at = this.tick_cycle;
  }

  /** CTRL.SM_RESTART: clear what it clears. */
  restart(cycle) {
    this.settle(cycle);
    // also the rest of a delay: back to the first tick there is
    if (!this.enabled) this.tick_cycle = this.paused_at;
    else if (this.tick_cycle > cycle) this.advanceTicks(-this.ticksBack(cycle));
    if (this.enabled) {
      this.advanceClockTo(cycle);
      this.at = this.tick_cycle;
    } else this.at = Infinity;
    this.pin_mask = 0;
    this.isr = 0;
    this.isr_count = 0;
    this.osr_count = 32;
    this.exec = -1;
    this.forced = false;
    this.irq_set = false;
    this.side_done = false;
    this.sticky = null;
  }

  // --- time

  /** Move the clock on by some ticks. */
  advanceTicks(ticks) {
    const parts = this.tick_part + ticks * this.divider;
    const cycles = Math.floor(parts / 256);
    this.tick_cycle += cycles;
    this.tick_part = parts - cycles * 256;
  }

  /** Move the clock on to its first tick at or after a cycle. */
  advanceClockTo(cycle) {
    if (this.tick_cycle >= cycle) return;
    const parts = (cycle - this.tick_cycle) * 256 - this.tick_part;
    this.advanceTicks(Math.ceil(parts / this.divider));
  }

  /** How many ticks lie before a cycle, from the next one on. */
  ticksBefore(cycle) {
    const parts = (cycle - this.tick_cycle) * 256 - this.tick_part;
    return parts <= 0 ? 0 : Math.ceil(parts / this.divider);
  }

  /** How many ticks lie between a cycle and the next one to count: what is left of a delay. */
  ticksBack(cycle) {
    return Math.floor(((this.tick_cycle - cycle) * 256 + this.tick_part) / this.divider);
  }

  /** Look again at a cycle: something it may depend on has changed. */
  wake(cycle) {
    this.settle(cycle);
    if (!this.enabled && !this.forced) {
      this.at = Infinity;
      return;
    }
    if (this.at === Infinity) {
      if (this.forced) this.at = cycle;
      else {
        this.advanceClockTo(cycle);
        this.at = this.tick_cycle;
      }
    }
  }

  /** Leave the parked state: be where stepping would have been before a cycle. */
  settle(cycle) {
    if (!this.parked) return;
    this.parked = false;
    this.pin_mask = 0;
    const passes = Math.min(
      this.park_passes,
      Math.floor(this.ticksBefore(cycle) / this.park_ticks),
    );
    if (passes > 0) {
      this.advanceTicks(passes * this.park_ticks);
      this.x = (this.park_x - passes * this.park_x_step) >>> 0;
      this.y = (this.park_y - passes * this.park_y_step) >>> 0;
    }
    this.at = this.tick_cycle;
    // the rest of a pass: jumps only, nobody else sees them
    while (this.at < cycle) this.step(this.at, false);
  }

  /** If only a counter or a pin can end the loop the machine is in, do not step through it. */
  park() {
    if (this.side_count !== 0 || this.exec >= 0) return;
    if (this.autopull && this.osr_count >= this.pull_threshold && !this.tx.empty) return;
    const { instructions, inputs } = this.block;
    const start = this.pc;
    let pc = start;
    let ticks = 0;
    let x_step = 0;
    let y_step = 0;
    let tests = 0;
    let pin = false;
    for (let i = 0; i < LOOP_MAX; i++) {
      const op = instructions[pc];
      if (op >>> 13 !== JMP) return;
      let taken = true;
      switch ((op >>> 5) & 7) {
        case 1:
          taken = this.x === 0;
          tests |= 1;
          break;
        case 2:
          if (this.x === x_step) return;
          x_step++;
          break;
        case 3:
          taken = this.y === 0;
          tests |= 2;
          break;
        case 4:
          if (this.y === y_step) return;
          y_step++;
          break;
        case 5:
          taken = this.x !== this.y;
          tests |= 3;
          break;
        case 6:
          taken = ((inputs >>> this.jmp_pin) & 1) === 1;
          pin = true;
          break;
        case 7:
          taken = this.osr_count < this.pull_threshold;
          break;
        default:
      }
      ticks += 1 + ((op >>> 8) & 31);
      pc = taken ? op & 31 : this.pcAfter(pc);
      if (pc === start) {
        // a counter that is tested in another way, too: not worth it
        if ((x_step && tests & 1) || (y_step && tests & 2)) return;
        const passes = Math.min(
          x_step ? Math.floor(this.x / x_step) : Infinity,
          y_step ? Math.floor(this.y / y_step) : Infinity,
        );
        if (passes < 2) return;
        this.parked = true;
        this.park_x = this.x;
        this.park_y = this.y;
        this.park_ticks = ticks;
        this.park_passes = passes;
        this.park_x_step = x_step;
        this.park_y_step = y_step;
        this.pin_mask = pin ? (1 << this.jmp_pin) >>> 0 : 0;
        const parts = this.tick_part + passes * ticks * this.divider;
        this.at = this.tick_cycle + Math.floor(parts / 256);
        return;
      }
    }
  }

  pcAfter(pc) {
    return pc === this.wrap_top ? this.wrap_bottom : (pc + 1) & 31;
  }

  // --- execution

  /** Do what the machine does in the cycle `this.at`. */
  step(cycle, may_park = true) {
    if (this.parked) this.settle(cycle);
    if (this.forced) {
      this.stepForced(cycle);
      return;
    }
    this.tick_cycle = cycle;
    const from_memory = this.exec < 0;
    const op = from_memory ? this.block.instructions[this.pc] : this.exec;
    if (this.autopull && op >>> 13 !== OUT) this.refill();
    // OUT EXEC and MOV EXEC may set it again
    this.exec = -1;
    const end = this.execute(op);
    const delay = this.sideSet(op);
    if (end === STALL || end === AGAIN) {
      if (!from_memory) this.exec = op;
      this.side_done = true;
      this.advanceTicks(1);
      // stepping looks at every tick; else whoever changes something wakes it
      this.at = this.block.skipping && end === STALL ? Infinity : this.tick_cycle;
      return;
    }
    this.side_done = false;
    this.pin_mask = 0;
    if (end === NEXT && from_memory) this.pc = this.pcAfter(this.pc);
    // the delay of an instruction that gives another one to execute is ignored
    this.advanceTicks(this.exec >= 0 ? 1 : 1 + delay);
    if (!this.enabled) {
      this.at = Infinity;
      return;
    }
    this.at = this.tick_cycle;
    if (may_park && this.block.skipping && op >>> 13 === JMP) this.park();
  }

  /**
   * Try an instruction from the INSTR register: it waits for no clock tick, takes the place of
   * what the machine would have done in this cycle, and its own delay does not count.
   */
  stepForced(cycle) {
    const op = this.exec;
    if (this.autopull && op >>> 13 !== OUT) this.refill();
    this.exec = -1;
    this.forced = false;
    const end = this.execute(op);
    this.sideSet(op);
    if (end === STALL || end === AGAIN) {
      this.exec = op;
      this.forced = true;
      this.side_done = true;
      this.at = this.block.skipping && end === STALL ? Infinity : cycle + 1;
      return;
    }
    this.side_done = false;
    this.pin_mask = 0;
    this.at = Infinity;
    if (!this.enabled) return; // its clock stands still
    this.advanceClockTo(cycle + 1);
    this.at = this.tick_cycle;
  }

  /** SMx_INSTR was written. */
  force(op, cycle) {
    this.settle(cycle);
    this.exec = op;
    this.forced = true;
    this.side_done = false;
    this.pin_mask = 0;
    this.at = cycle;
  }

  refill() {
    if (this.osr_count < this.pull_threshold || this.tx.empty) return;
    this.osr = this.tx.pull();
    this.osr_count = 0;
    this.block.txTaken(this.index);
  }

  /** Set the side-set pins (after the instruction: they win) and return its delay. */
  sideSet(op) {
    const field = (op >>> 8) & 31;
    let count = this.side_count;
    if (count === 0) return field;
    const value = field >>> (5 - count);
    const delay = field & ((1 << (5 - count)) - 1);
    if (this.side_done) return delay;
    if (this.side_optional) {
      count--;
      if (!((value >>> count) & 1)) return delay;
    }
    this.block.writePins(this.side_base, count, value & lowBits(count), this.side_directions);
    return delay;
  }

  execute(op) {
    const argument = op & 31;
    const selector = (op >>> 5) & 7;
    switch (op >>> 13) {
      case JMP:
        if (!this.condition(selector)) return NEXT;
        this.pc = argument;
        return JUMPED;
      case WAIT:
        return this.wait(op) ? NEXT : STALL;
      case IN:
        return this.shiftIn(selector, argument || 32);
      case OUT:
        return this.shiftOut(selector, argument || 32);
      case PUSH_PULL:
        return op & 0x80 ? this.pull(op) : this.push(op);
      case MOV:
        return this.move(selector, (op >>> 3) & 3, op & 7);
      case IRQ:
        return this.interrupt(op);
      default:
        this.set(selector, argument);
        return NEXT;
    }
  }

  condition(selector) {
    switch (selector) {
      case 0:
        return true;
      case 1:
        return this.x === 0;
      case 2: {
        const taken = this.x !== 0;
        this.x = (this.x - 1) >>> 0;
        return taken;
      }
      case 3:
        return this.y === 0;
      case 4: {
        const taken = this.y !== 0;
        this.y = (this.y - 1) >>> 0;
        return taken;
      }
      case 5:
        return this.x !== this.y;
      case 6:
        return ((this.block.inputs >>> this.jmp_pin) & 1) === 1;
      default:
        return this.osr_count < this.pull_threshold;
    }
  }

  /** The number of an IRQ flag as an instruction gives it. */
  flag(argument) {
    return argument & 0x10 ? (argument & 4) | ((argument + this.index) & 3) : argument & 7;
  }

  wait(op) {
    const polarity = (op >>> 7) & 1;
    const argument = op & 31;
    const source = (op >>> 5) & 3;
    if (source === 2) {
      const bit = 1 << this.flag(argument);
      if (((this.block.irq_start & bit) !== 0) !== (polarity === 1)) return false;
      if (polarity) this.block.clearFlags(bit);
      return true;
    }
    const pin = source === 1 ? (this.in_base + argument) & 31 : argument;
    if (((this.block.inputs >>> pin) & 1) === polarity) return true;
    this.pin_mask = (1 << pin) >>> 0;
    return false;
  }

  source(selector) {
    switch (selector) {
      case 0:
        return rotateRight(this.block.inputs, this.in_base);
      case 1:
        return this.x;
      case 2:
        return this.y;
      case 5: {
        const level = this.execctrl & 0x10 ? this.rx.level : this.tx.level;
        return level < (this.execctrl & 15) ? 0xffffffff : 0;
      }
      case 6:
        return this.isr;
      case 7:
        return this.osr;
      default:
        return 0;
    }
  }

  shiftIn(selector, count) {
    const counted = Math.min(32, this.isr_count + count);
    const pushes = this.autopush && counted >= this.push_threshold;
    if (pushes && this.rx.full) {
      this.block.setDebug(0, this.index);
      return STALL;
    }
    const bits = (this.source(selector) & lowBits(count)) >>> 0;
    if (count === 32) this.isr = bits;
    else if (this.in_right) this.isr = ((this.isr >>> count) | (bits << (32 - count))) >>> 0;
    else this.isr = ((this.isr << count) | bits) >>> 0;
    this.isr_count = counted;
    if (pushes) this.pushIsr();
    return NEXT;
  }

  pushIsr() {
    this.rx.push(this.isr);
    this.isr = 0;
    this.isr_count = 0;
    this.block.rxGiven(this.index);
  }

  shiftOut(selector, count) {
    if (this.autopull && this.osr_count >= this.pull_threshold) {
      // a cycle is lost: the word can be shifted out in the next one only
      if (!this.tx.empty) {
        this.refill();
        return AGAIN;
      }
      this.block.setDebug(24, this.index);
      return STALL;
    }
    let bits;
    if (this.out_right) {
      bits = (this.osr & lowBits(count)) >>> 0;
      this.osr = count === 32 ? 0 : this.osr >>> count;
    } else {
      bits = this.osr >>> (32 - count);
      this.osr = count === 32 ? 0 : (this.osr << count) >>> 0;
    }
    this.osr_count = Math.min(32, this.osr_count + count);
    if (this.autopull) this.refill();
    switch (selector) {
      case 0:
        this.writeOut(bits, false);
        break;
      case 1:
        this.x = bits;
        break;
      case 2:
        this.y = bits;
        break;
      case 4:
        this.writeOut(bits, true);
        break;
      case 5:
        this.pc = bits & 31;
        return JUMPED;
      case 6:
        this.isr = bits;
        this.isr_count = count;
        break;
      case 7:
        this.exec = bits & 0xffff;
        break;
      default:
    }
    return NEXT;
  }

  push(op) {
    if (op & 0x40 && this.isr_count < this.push_threshold) return NEXT;
    if (!this.rx.full) {
      this.pushIsr();
      return NEXT;
    }
    this.block.setDebug(0, this.index);
    if (op & 0x20) return STALL;
    this.isr = 0;
    this.isr_count = 0;
    return NEXT;
  }

  pull(op) {
    const below = this.osr_count < this.pull_threshold;
    // with autopull a PULL only waits for the OSR to be full
    if ((op & 0x40 || this.autopull) && below) return NEXT;
    if (!this.tx.empty) {
      this.osr = this.tx.pull();
      this.block.txTaken(this.index);
    } else if (op & 0x20) {
      this.block.setDebug(24, this.index);
      return STALL;
    } else this.osr = this.x;
    this.osr_count = 0;
    return NEXT;
  }

  move(destination, operation, selector) {
    let value = this.source(selector);
    if (operation === 1) value = ~value >>> 0;
    else if (operation === 2) value = reverse(value);
    switch (destination) {
      case 0:
        this.writeOut(value, false);
        break;
      case 1:
        this.x = value;
        break;
      case 2:
        this.y = value;
        break;
      case 4:
        this.exec = value & 0xffff;
        break;
      case 5:
        this.pc = value & 31;
        return JUMPED;
      case 6:
        this.isr = value;
        this.isr_count = 0;
        break;
      case 7:
        this.osr = value;
        this.osr_count = 0;
        break;
      default:
    }
    return NEXT;
  }

  set(destination, value) {
    if (destination === 1) this.x = value;
    else if (destination === 2) this.y = value;
    else if (destination === 0 || destination === 4) {
      this.writeStickily(this.set_base, this.set_count, value, destination === 4);
    }
  }

  /** OUT and MOV to pins: an inline enable bit may say that nothing is to be written. */
  writeOut(value, directions) {
    if (this.inline_enable && !((value >>> this.inline_enable_bit) & 1)) {
      this.sticky = null;
      return;
    }
    this.writeStickily(this.out_base, this.out_count, value, directions);
  }

  writeStickily(base, count, value, directions) {
    this.block.writePins(base, count, value, directions);
    if (this.execctrl & 0x20000) this.sticky = [base, count, value, directions];
  }

  interrupt(op) {
    const bit = 1 << this.flag(op & 31);
    if (op & 0x40) {
      this.block.clearFlags(bit);
      return NEXT;
    }
    if (!this.irq_set) {
      this.block.setFlags(bit);
      if (!(op & 0x20)) return NEXT;
      this.irq_set = true;
      return STALL;
    }
    if (this.block.irq_start & bit) return STALL;
    this.irq_set = false;
    return NEXT;
  }

  // --- copies

  /** Become a copy of another machine (of another block). */
  copyFrom(other) {
    const { block, tx, rx } = this;
    Object.assign(this, other);
    this.block = block;
    this.tx = tx;
    this.rx = rx;
    tx.copyFrom(other.tx);
    rx.copyFrom(other.rx);
  }

  /** Everything that a program or a register can tell, for comparisons. */
  snapshot(cycle) {
    this.settle(cycle);
    const { x, y, pc, isr, isr_count, osr, osr_count, exec, irq_set } = this;
    const [tx, rx] = [this.tx.list(), this.rx.list()];
    return { x, y, pc, isr, isr_count, osr, osr_count, exec, irq_set, tx, rx };
  }
}
