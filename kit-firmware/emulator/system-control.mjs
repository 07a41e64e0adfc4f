/**
 * The processor's private peripherals: rp2040js', with a SysTick that counts clk_sys to the cycle
 * and with the interrupt controller's way to take back what is pending (exceptions.mjs).
 */
import { RP2040 } from 'rp2040js';

// not exported by the package
const RPPPB = new RP2040().ppb.constructor;

const SYST_CSR = 0x010;
const SYST_RVR = 0x014;
const SYST_CVR = 0x018;
const NVIC_ICPR = 0x280;
const [ENABLE, INTERRUPT, PROCESSOR_CLOCK, COUNTED] = [1, 2, 4, 1 << 16];
const COUNT_MASK = 0xffffff;

/**
 * A counter from RVR down to 0: RVR + 1 counts from one zero to the next. The count behind a zero
 * loads RVR; writing CVR makes a zero that nobody is told of.
 */
class SysTick {
  constructor(rp2040, clock) {
    this.rp2040 = rp2040;
    this.clock = clock;
    this.control = 0;
    this.counted = false;
    this.reload = COUNT_MASK;
    /** The value while it is off. */
    this.held = COUNT_MASK;
    /** The cycle of the next zero that counts while it is on, and what was loaded before it. */
    this.zero_at = Infinity;
    this.loaded = 0;
    this.alarm = clock.createAlarm(() => this.tick());
    rp2040.addClockListener(() => this.schedule());
  }

  get cyclesPerCount() {
    // the reference is the watchdog's microsecond
    return this.control & PROCESSOR_CLOCK ? 1 : Math.round(this.rp2040.clkSys / 1e6);
  }

  get value() {
    if (!(this.control & ENABLE)) return this.held;
    const left = Math.ceil((this.zero_at - this.clock.cycleNow()) / this.cyclesPerCount);
    return left > this.loaded ? 0 : left;
  }

  /** Count on from a value in this cycle; from 0 the next count loads RVR. */
  start(value) {
    this.loaded = value || this.reload;
    this.zero_at = this.clock.cycleNow() + (value || this.reload + 1) * this.cyclesPerCount;
    this.schedule();
  }

  schedule() {
    this.alarm.cancel();
    if (!(this.control & ENABLE) || !this.loaded) return;
    const cycles = this.zero_at - this.clock.cycleNow();
    this.alarm.schedule((cycles * 1e9) / this.clock.frequency);
  }

  tick() {
    this.counted = true;
    if (this.control & INTERRUPT) {
      this.rp2040.core.pendingSystick = true;
      this.rp2040.core.interruptsUpdated = true;
    }
    this.loaded = this.reload;
    this.zero_at += (this.reload + 1) * this.cyclesPerCount;
    this.schedule();
  }

  read(register) {
    if (register === SYST_RVR) return this.reload;
    if (register === SYST_CVR) return this.value;
    const counted = this.counted ? COUNTED : 0;
    this.counted = false;
    return this.control | counted;
  }

  write(register, value) {
    if (register === SYST_RVR) {
      this.reload = value & COUNT_MASK;
    } else if (register === SYST_CVR) {
      this.counted = false;
      this.held = 0;
      if (this.control & ENABLE) this.start(0);
    } else {
      const before = this.value;
      this.control = value & (ENABLE | INTERRUPT | PROCESSOR_CLOCK);
      this.held = before;
      if (this.control & ENABLE) this.start(before);
      else this.alarm.cancel();
    }
  }
}

export class SystemControl extends RPPPB {
  /** @param {import('./clock.mjs').CycleClock} clock */
  constructor(rp2040, clock) {
    super(rp2040, 'PPB');
    this.systick = new SysTick(rp2040, clock);
  }

  readUint32(offset) {
    if (offset >= SYST_CSR && offset <= SYST_CVR) return this.systick.read(offset);
    return super.readUint32(offset);
  }

  writeUint32(offset, value) {
    // the base class' constructor writes, too, to a SysTick of its own that stays off
    if (this.systick && offset >= SYST_CSR && offset <= SYST_CVR) this.systick.write(offset, value);
    else if (offset === NVIC_ICPR) this.rp2040.core.clearPending(value);
    else super.writeUint32(offset, value);
  }
}
