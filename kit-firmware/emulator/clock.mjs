/**
 * Emulated time, derived from the cycle counter.
 *
 * rp2040js' own SimulationClock adds up floating point nanoseconds tick by tick; here a time is
 * always computed from a whole number of clk_sys cycles, so that nothing drifts and every alarm
 * belongs to one cycle.
 */
class Alarm {
  constructor(clock, callback) {
    this.clock = clock;
    this.callback = callback;
    this.time_ns = 0;
    this.scheduled = false;
  }

  /** @param {number} delta_ns from now */
  schedule(delta_ns) {
    this.cancel();
    this.time_ns = this.clock.nanos + delta_ns;
    this.clock.insert(this);
  }

  cancel() {
    if (this.scheduled) this.clock.remove(this);
  }
}

// far below a picosecond's worth of a cycle: takes off what floating point adds
const ROUNDING_CYCLES = 1e-6;

/** The clock that rp2040js' peripherals ask for the time and for alarms. */
export class CycleClock {
  /** @param {() => number} cycleNow the cycle that is being emulated */
  constructor(cycleNow) {
    this.cycleNow = cycleNow;
    this.base_cycle = 0;
    this.base_ns = 0;
    this.frequency = 125e6;
    /** Alarms by time; of two at the same time the one scheduled first comes first. */
    this.alarms = [];
    /** The cycle of the first alarm. */
    this.next = Infinity;
    /** Called when `next` changes. */
    this.onChange = () => {};
  }

  get nanos() {
    return this.base_ns + ((this.cycleNow() - this.base_cycle) * 1e9) / this.frequency;
  }

  get micros() {
    return this.nanos / 1000;
  }

  createAlarm(callback) {
    return new Alarm(this, callback);
  }

  /** From now on a second has `hertz` cycles. */
  setFrequency(hertz) {
    this.base_ns = this.nanos;
    this.base_cycle = this.cycleNow();
    this.frequency = hertz;
    this.update();
  }

  /** The first cycle that begins at or after a time. */
  cycleOf(time_ns) {
    const cycles = ((time_ns - this.base_ns) * this.frequency) / 1e9;
    return this.base_cycle + Math.ceil(cycles - ROUNDING_CYCLES);
  }

  insert(alarm) {
    let i = this.alarms.length;
    while (i > 0 && this.alarms[i - 1].time_ns > alarm.time_ns) i--;
    this.alarms.splice(i, 0, alarm);
    alarm.scheduled = true;
    if (i === 0) this.update();
  }

  remove(alarm) {
    const i = this.alarms.indexOf(alarm);
    this.alarms.splice(i, 1);
    alarm.scheduled = false;
    if (i === 0) this.update();
  }

  update() {
    this.next = this.alarms.length ? this.cycleOf(this.alarms[0].time_ns) : Infinity;
    this.onChange();
  }

  /** Call the alarms that are due at a cycle. */
  fire(cycle) {
    while (this.next <= cycle) {
      const alarm = this.alarms[0];
      this.remove(alarm);
      alarm.callback();
    }
  }
}
