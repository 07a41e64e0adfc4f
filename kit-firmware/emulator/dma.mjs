/**
 * The DMA controller: 12 channels, at most one transfer a cycle, in lock-step with the PIO.
 *
 * rp2040js' own DMA moves a word whenever an alarm of zero nanoseconds comes round, does not
 * reload a count while it runs and knows no aborts that hold; this one replaces it. A transfer
 * (read and write) takes place within one cycle, LATENCY_CYCLES after a channel was started or its
 * request came, then in every cycle while the request holds; several ready channels take turns.
 */
import { BasePeripheral } from 'rp2040js';

export const LATENCY_CYCLES = 3;

const CHANNELS = 12;
const REGISTERS_END = CHANNELS * 0x40;
const INTR = 0x400;
const TIMER0 = 0x420;
const TIMER3 = 0x42c;
const MULTI_CHAN_TRIGGER = 0x430;
const SNIFF_CTRL = 0x434;
const SNIFF_DATA = 0x438;
const FIFO_LEVELS = 0x440;
const CHAN_ABORT = 0x444;
const N_CHANNELS = 0x448;
const DEBUG = 0x800;
const FIRST_IRQ = 11;

const BUSY = 1 << 24;
const BYTE_SWAP = 1 << 22;
const IRQ_QUIET = 1 << 21;
const RING_ON_WRITE = 1 << 10;
const INCREMENT_WRITE = 1 << 5;
const INCREMENT_READ = 1 << 4;
const HIGH_PRIORITY = 1 << 1;
const ENABLE = 1;
const CTRL_WRITABLE = 0xffffff;

const PIO_REQUESTS = 16;
const TIMER_REQUEST = 59;
const PERMANENT = 63;

// which of read address, write address, count, control is at which offset, and which starts
const READ = 0;
const WRITE = 1;
const COUNT = 2;
const CONTROL = 3;
const LAYOUT = [READ, WRITE, COUNT, CONTROL, CONTROL, READ, WRITE, COUNT]
  .concat([CONTROL, COUNT, READ, WRITE])
  .concat([CONTROL, WRITE, COUNT, READ]);

class Channel {
  constructor(index) {
    this.index = index;
    this.read_address = 0;
    this.write_address = 0;
    this.count = 0;
    this.count_reload = 0;
    this.busy = false;
    /** The first cycle in which it may transfer; never while its request is absent. */
    this.ready_at = Infinity;
    this.setControl(index << 11);
  }

  setControl(value) {
    this.control = value & CTRL_WRITABLE;
    this.enabled = (value & ENABLE) !== 0;
    this.size = Math.min(2, (value >>> 2) & 3);
    const ring = (value >>> 6) & 15;
    this.ring_mask = ring ? (1 << ring) - 1 : 0;
    this.chain_to = (value >>> 11) & 15;
    this.request = (value >>> 15) & 63;
  }
}

const stepped = (address, by, ring_mask) =>
  ring_mask ? ((address & ~ring_mask) | ((address + by) & ring_mask)) >>> 0 : (address + by) >>> 0;

const swap16 = (value) => ((value & 0xff) << 8) | ((value >>> 8) & 0xff);

export class Dma extends BasePeripheral {
  /** @param {import('./fabric.mjs').Fabric} fabric */
  constructor(rp2040, fabric) {
    super(rp2040, 'DMA');
    this.fabric = fabric;
    fabric.dma = this;
    this.channels = Array.from({ length: CHANNELS }, (_, i) => new Channel(i));
    this.interrupts = 0;
    this.enables = [0, 0];
    this.forces = [0, 0];
    this.timers = [0, 0, 0, 0];
    this.sniff_control = 0;
    this.sniff_data = 0;
    /** Requests of peripherals other than PIO. */
    this.requests = new Array(TIMER_REQUEST).fill(false);
    this.last_served = CHANNELS - 1;
    this.next = Infinity;
    /** Filled in by the board: whether a PIO queue asks for a transfer. */
    this.pioWants = () => false;
  }

  // --- requests

  /** rp2040js' peripherals call this */
  setDREQ(request) {
    this.requests[request] = true;
    this.requested(request);
  }

  /** rp2040js' peripherals call this */
  clearDREQ(request) {
    this.requests[request] = false;
  }

  /** A request may have come. */
  requested(request) {
    for (const channel of this.channels) {
      if (channel.busy && channel.request === request && channel.ready_at === Infinity) {
        this.arm(channel, LATENCY_CYCLES);
      }
    }
    this.reschedule();
  }

  wanted({ request }) {
    if (request === PERMANENT) return true;
    if (request < PIO_REQUESTS) return this.pioWants(request);
    if (request >= TIMER_REQUEST) return this.timers[request - TIMER_REQUEST] >>> 16 !== 0;
    return this.requests[request];
  }

  /** When may a channel transfer next, if anything holds from now on? */
  arm(channel, latency_cycles) {
    if (!channel.busy || !channel.enabled || !this.wanted(channel)) {
      channel.ready_at = Infinity;
      return;
    }
    channel.ready_at = this.fabric.now + latency_cycles;
    if (channel.request >= TIMER_REQUEST && channel.request !== PERMANENT) {
      // X transfers in Y cycles
      const timer = this.timers[channel.request - TIMER_REQUEST];
      const period = Math.max(1, (timer & 0xffff) / (timer >>> 16));
      channel.ready_at = Math.ceil((Math.floor(this.fabric.now / period) + 1) * period);
    }
  }

  reschedule() {
    let next = Infinity;
    for (const { ready_at } of this.channels) if (ready_at < next) next = ready_at;
    this.next = next === Infinity ? next : Math.max(next, this.fabric.visible);
    this.fabric.reschedule();
  }

  // --- transfers

  /** Do the one transfer of a cycle. */
  step(cycle) {
    const channel = this.choose(cycle);
    if (channel) {
      if (channel.count === 0) this.complete(channel);
      else if (this.wanted(channel)) this.transfer(channel);
      else channel.ready_at = Infinity;
    }
    this.reschedule();
  }

  choose(cycle) {
    let best = null;
    for (let i = 1; i <= CHANNELS; i++) {
      const channel = this.channels[(this.last_served + i) % CHANNELS];
      if (channel.ready_at > cycle) continue;
      if (channel.control & HIGH_PRIORITY) {
        best = channel;
        break;
      }
      best ??= channel;
    }
    if (best) this.last_served = best.index;
    return best;
  }

  transfer(channel) {
    const { rp2040 } = this;
    const { size, control, ring_mask } = channel;
    const bytes = 1 << size;
    const swap = (control & BYTE_SWAP) !== 0;
    const { read_address: from, write_address: to } = channel;
    if (control & INCREMENT_READ) {
      channel.read_address = stepped(from, bytes, control & RING_ON_WRITE ? 0 : ring_mask);
    }
    if (control & INCREMENT_WRITE) {
      channel.write_address = stepped(to, bytes, control & RING_ON_WRITE ? ring_mask : 0);
    }
    channel.count--;
    if (size === 2) {
      const value = rp2040.readUint32(from);
      rp2040.writeUint32(
        to,
        swap ? ((swap16(value & 0xffff) << 16) | swap16(value >>> 16)) >>> 0 : value,
      );
    } else if (size === 1) {
      const value = rp2040.readUint16(from);
      rp2040.writeUint16(to, swap ? swap16(value) : value);
    } else rp2040.writeUint8(to, rp2040.readUint8(from));
    // the write may have reached this channel's own registers, or aborted it
    if (channel.busy && channel.count === 0) this.complete(channel);
    else this.arm(channel, 1);
  }

  complete(channel) {
    channel.busy = false;
    channel.ready_at = Infinity;
    if (!(channel.control & IRQ_QUIET)) this.raise(channel);
    if (channel.chain_to !== channel.index && channel.chain_to < CHANNELS) {
      this.start(this.channels[channel.chain_to]);
    }
  }

  start(channel) {
    if (!channel.enabled || channel.busy) return;
    channel.count = channel.count_reload;
    channel.busy = true;
    if (channel.count) this.arm(channel, LATENCY_CYCLES);
    else channel.ready_at = this.fabric.now + LATENCY_CYCLES; // complete without a transfer
    this.reschedule();
  }

  raise(channel) {
    this.interrupts |= 1 << channel.index;
    this.updateInterrupts();
  }

  updateInterrupts() {
    for (let line = 0; line < 2; line++) {
      const status = (this.interrupts & this.enables[line]) | this.forces[line];
      this.rp2040.setInterrupt(FIRST_IRQ + line, status !== 0);
    }
  }

  // --- registers

  readUint32(offset) {
    offset &= 0xfff;
    if (offset < REGISTERS_END) {
      const channel = this.channels[offset >> 6];
      switch (LAYOUT[(offset & 0x3f) >> 2]) {
        case READ:
          return channel.read_address;
        case WRITE:
          return channel.write_address;
        case COUNT:
          return channel.count;
        default:
          return channel.control | (channel.busy ? BUSY : 0);
      }
    }
    if (offset >= DEBUG && offset < DEBUG + REGISTERS_END) {
      const channel = this.channels[(offset - DEBUG) >> 6];
      return (offset & 0x3f) === 4 ? channel.count_reload : 0;
    }
    if (offset >= INTR && offset < TIMER0) {
      const line = offset & 0x10 ? 1 : 0;
      switch (offset & 0xf) {
        case 0x0:
          return this.interrupts;
        case 0x4:
          return this.enables[line];
        case 0x8:
          return this.forces[line];
        default:
          return (this.interrupts & this.enables[line]) | this.forces[line];
      }
    }
    if (offset >= TIMER0 && offset <= TIMER3) return this.timers[(offset - TIMER0) >> 2];
    switch (offset) {
      case SNIFF_CTRL:
        return this.sniff_control;
      case SNIFF_DATA:
        return this.sniff_data;
      case N_CHANNELS:
        return CHANNELS;
      case MULTI_CHAN_TRIGGER:
      case FIFO_LEVELS:
      case CHAN_ABORT: // aborts end at once
        return 0;
      default:
        return super.readUint32(offset);
    }
  }

  writeUint32(offset, value) {
    value >>>= 0;
    if (offset < REGISTERS_END) {
      this.writeChannel(this.channels[offset >> 6], (offset & 0x3f) >> 2, value);
      this.reschedule();
      return;
    }
    if (offset >= INTR && offset < TIMER0) {
      const line = offset & 0x10 ? 1 : 0;
      const register = offset & 0xf;
      if (register === 0x4) this.enables[line] = value & 0xffff;
      else if (register === 0x8) this.forces[line] = value & 0xffff;
      else this.interrupts &= ~this.rawWriteValue;
      this.updateInterrupts();
      return;
    }
    if (offset >= TIMER0 && offset <= TIMER3) {
      this.timers[(offset - TIMER0) >> 2] = value;
      this.requested(TIMER_REQUEST + ((offset - TIMER0) >> 2));
      return;
    }
    switch (offset) {
      case MULTI_CHAN_TRIGGER:
        for (const channel of this.channels) {
          if (value & (1 << channel.index)) this.start(channel);
        }
        break;
      case CHAN_ABORT:
        for (const channel of this.channels) {
          if (!(value & (1 << channel.index))) continue;
          channel.busy = false;
          channel.ready_at = Infinity;
        }
        break;
      case SNIFF_CTRL:
        this.sniff_control = value;
        break;
      case SNIFF_DATA:
        this.sniff_data = value;
        break;
      default:
        if (offset < DEBUG) super.writeUint32(offset, value);
    }
    this.reschedule();
  }

  writeChannel(channel, index, value) {
    switch (LAYOUT[index]) {
      case READ:
        channel.read_address = value;
        break;
      case WRITE:
        channel.write_address = value;
        break;
      case COUNT:
        channel.count_reload = value;
        break;
      default:
        channel.setControl(value);
        this.arm(channel, LATENCY_CYCLES);
    }
    // the last register of each of the four layouts starts the channel
    if ((index & 3) !== 3) return;
    if (value !== 0) this.start(channel);
    else if (channel.control & IRQ_QUIET) this.raise(channel);
  }
}
