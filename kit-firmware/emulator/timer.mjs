/**
 * The microsecond timer and its four alarms.
 *
 * rp2040js' own fires an alarm up to a microsecond before the timer shows its time (it drops the
 * fraction of the microsecond that has begun), so that the firmware finds nothing due and arms it
 * again; this one fires in the cycle in which the timer comes to the alarm's time, as the chip.
 */
import { BasePeripheral } from 'rp2040js';

const TIMEHW = 0x00;
const TIMELW = 0x04;
const TIMEHR = 0x08;
const TIMELR = 0x0c;
const ALARM0 = 0x10;
const ALARM3 = 0x1c;
const ARMED = 0x20;
const TIMERAWH = 0x24;
const TIMERAWL = 0x28;
const DBGPAUSE = 0x2c;
const PAUSE = 0x30;
const INTR = 0x34;
const INTE = 0x38;
const INTF = 0x3c;
const INTS = 0x40;

// a time computed from cycles may fall short of a whole microsecond by floating point's last bits
const ROUNDING_NS = 1e-3;

export class Timer extends BasePeripheral {
  /** @param {import('./clock.mjs').CycleClock} clock */
  constructor(rp2040, clock) {
    super(rp2040, 'TIMER');
    this.clock = clock;
    this.latched_high = 0;
    this.targets = [0, 0, 0, 0];
    this.armed = 0;
    this.raw = 0;
    this.enable = 0;
    this.force = 0;
    this.alarms = [0, 1, 2, 3].map((i) => clock.createAlarm(() => this.fire(i)));
  }

  get micros() {
    return Math.floor((this.clock.nanos + ROUNDING_NS) / 1000);
  }

  readUint32(offset) {
    offset &= 0xfff;
    if (offset >= ALARM0 && offset <= ALARM3) return this.targets[(offset - ALARM0) >> 2];
    switch (offset) {
      case TIMEHR:
        return this.latched_high;
      case TIMELR:
        this.latched_high = Math.floor(this.micros / 2 ** 32);
        return this.micros >>> 0;
      case TIMERAWH:
        return Math.floor(this.micros / 2 ** 32);
      case TIMERAWL:
        return this.micros >>> 0;
      case ARMED:
        return this.armed;
      case INTR:
        return this.raw;
      case INTE:
        return this.enable;
      case INTF:
        return this.force;
      case INTS:
        return (this.raw & this.enable) | this.force;
      case DBGPAUSE:
      case PAUSE:
        return 0;
      default:
        return super.readUint32(offset);
    }
  }

  writeUint32(offset, value) {
    if (offset >= ALARM0 && offset <= ALARM3) {
      const i = (offset - ALARM0) >> 2;
      const { micros } = this;
      this.targets[i] = value >>> 0;
      this.armed |= 1 << i;
      const target = micros + ((value - (micros >>> 0)) >>> 0);
      this.alarms[i].schedule(Math.max(0, target * 1000 - this.clock.nanos));
      return;
    }
    switch (offset) {
      case ARMED:
        for (let i = 0; i < 4; i++) if (this.rawWriteValue & (1 << i)) this.disarm(i);
        break;
      case INTR:
        this.raw &= ~this.rawWriteValue;
        break;
      case INTE:
        this.enable = value & 15;
        break;
      case INTF:
        this.force = value & 15;
        break;
      case TIMEHW:
      case TIMELW:
      case DBGPAUSE:
      case PAUSE:
        break;
      default:
        super.writeUint32(offset, value);
    }
    this.updateInterrupts();
  }

  fire(i) {
    this.disarm(i);
    this.raw |= 1 << i;
    this.updateInterrupts();
  }

  disarm(i) {
    this.alarms[i].cancel();
    this.armed &= ~(1 << i);
  }

  updateInterrupts() {
    const status = (this.raw & this.enable) | this.force;
    for (let i = 0; i < 4; i++) this.rp2040.setInterrupt(i, (status & (1 << i)) !== 0);
  }
}
