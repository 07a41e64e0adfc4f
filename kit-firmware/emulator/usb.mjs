/**
 * The USB device controller, and the host at the other end of the cable.
 *
 * rp2040js completes every transfer at once: an armed IN buffer is "sent" when it is armed, an
 * armed OUT buffer comes back empty when the host has nothing (38,000 interrupts a second), and
 * of a double buffer the second half goes first. A real host answers NAK by asking again. So here
 * buffers stay armed until the host takes or fills them, at the pace of a full-speed bus.
 */
import { RPUSBController } from 'rp2040js';

const PACKETS_PER_FRAME = 19;
const FRAME_NS = 1e6;
const PACKET_NS = FRAME_NS / PACKETS_PER_FRAME;
const PACKET_SIZE = 64;

// in the controller's memory
const ENDPOINT_CONTROL = 0x008;
const BUFFER_CONTROL = 0x080;
const BUFFER_CONTROL_END = 0x100;
const EP0_BUFFER = 0x100;
const CONTROL_DOUBLE = 1 << 30;
const CONTROL_IRQ_PER_DOUBLE = 1 << 28;
const BUFFER_FULL = 1 << 15;
const BUFFER_SELECT = 1 << 12;
const BUFFER_AVAILABLE = 1 << 10;
const BUFFER_LENGTH = 0x3ff;

const SOF_RD = 0x48;
const INTE = 0x90;
const INTERRUPT_SOF = 1 << 17;

/** The device side: rp2040js' controller with buffers that wait for the host. */
export class UsbController extends RPUSBController {
  constructor(rp2040) {
    super(rp2040, 'USB');
    this.host = null;
    this.frame = 0;
    this.sof_running = false;
    this.frameAlarm = rp2040.clock.createAlarm(() => this.startOfFrame());
    /** Per endpoint direction the half of a double buffer that is next. */
    this.second_half = new Uint8Array(32);
  }

  readUint32(offset) {
    if ((offset & 0xfff) !== SOF_RD) return super.readUint32(offset);
    this.intRaw &= ~INTERRUPT_SOF;
    this.checkInterrupts();
    return this.frame;
  }

  writeUint32(offset, value) {
    super.writeUint32(offset, value);
    if (offset === INTE && value & INTERRUPT_SOF && !this.sof_running && this.host?.bus_up) {
      // frames begin at whole milliseconds; nobody hears of those that raise no interrupt
      const { nanos } = this.rp2040.clock;
      this.sof_running = true;
      this.frameAlarm.schedule((Math.floor(nanos / FRAME_NS) + 1) * FRAME_NS - nanos);
    }
  }

  startOfFrame() {
    this.sof_running = (this.intEnable & INTERRUPT_SOF) !== 0;
    if (!this.sof_running) return;
    this.frame = Math.round(this.rp2040.clock.nanos / FRAME_NS) & 0x7ff;
    this.intRaw |= INTERRUPT_SOF;
    this.checkInterrupts();
    this.frameAlarm.schedule(FRAME_NS);
  }

  /** The processor wrote to the controller's memory. */
  DPRAMUpdated(offset, value) {
    if (offset < BUFFER_CONTROL || offset >= BUFFER_CONTROL_END) return;
    if (!((value | (value >>> 16)) & BUFFER_AVAILABLE)) return;
    const index = (offset - BUFFER_CONTROL) >> 2;
    if (value & BUFFER_SELECT) this.second_half[index] = 0;
    this.host?.armed(index >> 1, (index & 1) === 1);
  }

  /** Where the buffer is that is next for an endpoint, or null if none is armed. */
  buffer(endpoint, out) {
    const view = this.rp2040.usbDPRAMView;
    const index = endpoint * 2 + (out ? 1 : 0);
    const at = BUFFER_CONTROL + 4 * index;
    const settings = endpoint ? view.getUint32(ENDPOINT_CONTROL + 4 * (index - 2), true) : 0;
    const double = (settings & CONTROL_DOUBLE) !== 0;
    const half = double ? this.second_half[index] : 0;
    const shift = 16 * half;
    const control = view.getUint32(at, true) >>> 0;
    if (!((control >>> shift) & BUFFER_AVAILABLE)) return null;
    const length = (control >>> shift) & BUFFER_LENGTH;
    const address = (endpoint ? settings & 0xffc0 : EP0_BUFFER) + PACKET_SIZE * half;
    return { index, at, settings, double, half, shift, control, length, address };
  }

  /** Give a buffer back to the processor. */
  complete(buffer, out, control) {
    const { index, at, double, half, shift, settings } = buffer;
    this.rp2040.usbDPRAMView.setUint32(at, control, true);
    if (double) this.second_half[index] ^= 1;
    const other = (control >>> (16 - shift)) & BUFFER_AVAILABLE;
    // the interrupt comes after both halves, if both were armed
    if (double && settings & CONTROL_IRQ_PER_DOUBLE && half === 0 && other) return;
    this.indicateBufferReady(index >> 1, out);
  }

  /** The host takes a packet; null if there is none. */
  take(endpoint) {
    const buffer = this.buffer(endpoint, false);
    if (!buffer) return null;
    const { address, length, shift, control } = buffer;
    const data = this.rp2040.usbDPRAM.slice(address, address + length);
    this.complete(buffer, false, (control & ~((BUFFER_AVAILABLE | BUFFER_FULL) << shift)) >>> 0);
    return data;
  }

  /** How many bytes the host may send now; null if the device takes nothing. */
  room(endpoint) {
    return this.buffer(endpoint, true)?.length ?? null;
  }

  /** The host sends a packet. */
  give(endpoint, data) {
    const buffer = this.buffer(endpoint, true);
    const { address, shift, control } = buffer;
    this.rp2040.usbDPRAM.set(data, address);
    const cleared = control & ~((BUFFER_AVAILABLE | BUFFER_LENGTH) << shift);
    this.complete(buffer, true, (cleared | ((BUFFER_FULL | data.length) << shift)) >>> 0);
  }
}

const DESCRIPTOR_CONFIGURATION = 2;
const DESCRIPTOR_INTERFACE = 4;
const DESCRIPTOR_ENDPOINT = 5;
const CLASS_CDC_DATA = 10;
const DTR_AND_RTS = 3;

const setup = (type, request, value, index, length) =>
  Uint8Array.of(
    type,
    request,
    value & 255,
    value >> 8,
    index & 255,
    index >> 8,
    length & 255,
    length >> 8,
  );

/** The computer at the other end of the cable: enumerates the device and speaks CDC with it. */
export class UsbHost {
  /** @param {UsbController} controller */
  constructor(controller) {
    this.controller = controller;
    this.clock = controller.rp2040.clock;
    controller.host = this;
    controller.onUSBEnabled = () => controller.resetDevice();
    controller.onResetReceived = () => this.enumerate();
    /** The bus is running: the device has been reset. */
    this.bus_up = false;
    this.configured = false;
    /** Whether a program on the host holds the port open. */
    this.open = false;
    /** Whether it takes what the device has; if not the device hears NAK. */
    this.taking = true;
    this.in_endpoint = -1;
    this.out_endpoint = -1;
    /** Bytes for the device. */
    this.queue = [];
    this.transfer = null;
    this.transfers = [];
    this.bus_free_ns = 0;
    this.busy = new Set();
    this.alarms = new Map();
    /** Bytes came from the device. */
    this.onData = () => {};
    this.onConfigured = () => {};
  }

  // --- packets

  /** A buffer of the device is ready: move a packet when the bus has time for it. */
  armed(endpoint, out) {
    if (!this.willing(endpoint, out)) return;
    const key = endpoint * 2 + (out ? 1 : 0);
    if (this.busy.has(key)) return;
    this.busy.add(key);
    if (!this.alarms.has(key)) {
      this.alarms.set(
        key,
        this.clock.createAlarm(() => this.move(key)),
      );
    }
    const now = this.clock.nanos;
    this.bus_free_ns = Math.max(now, this.bus_free_ns) + PACKET_NS;
    this.alarms.get(key).schedule(this.bus_free_ns - now);
  }

  willing(endpoint, out) {
    if (endpoint === 0) return true;
    if (out) return endpoint === this.out_endpoint && this.queue.length > 0;
    return endpoint === this.in_endpoint && this.taking;
  }

  move(key) {
    const endpoint = key >> 1;
    const out = (key & 1) === 1;
    const { controller } = this;
    this.busy.delete(key);
    if (!this.willing(endpoint, out)) return;
    if (out) {
      const room = controller.room(endpoint);
      if (room === null) return;
      controller.give(endpoint, endpoint ? this.dequeue(room) : new Uint8Array(0));
      if (!endpoint) this.endTransfer();
    } else {
      const data = controller.take(endpoint);
      if (data === null) return;
      if (!endpoint) this.controlData(data);
      else if (data.length) this.onData(data);
    }
    // the other half of a double buffer
    if (controller.buffer(endpoint, out)) this.armed(endpoint, out);
  }

  dequeue(room) {
    const first = this.queue[0];
    if (first.length <= room) {
      this.queue.shift();
      return first;
    }
    this.queue[0] = first.subarray(room);
    return first.subarray(0, room);
  }

  // --- control transfers

  control(packet, done = () => {}) {
    this.transfers.push({ packet, done, data: [], wanted: packet[6] | (packet[7] << 8) });
    if (!this.transfer) this.nextTransfer();
  }

  nextTransfer() {
    this.transfer = this.transfers.shift() ?? null;
    if (this.transfer) this.controller.sendSetupPacket(this.transfer.packet);
  }

  controlData(data) {
    const { transfer } = this;
    if (!transfer) return;
    if (transfer.packet[0] & 0x80) transfer.data.push(...data);
    else this.endTransfer();
  }

  endTransfer() {
    const { transfer } = this;
    if (!transfer) return;
    this.transfer = null;
    transfer.done(transfer.data);
    if (!this.transfer) this.nextTransfer();
  }

  enumerate() {
    this.bus_up = true;
    this.configured = false;
    this.transfer = null;
    this.transfers = [];
    const configuration = (length) => setup(0x80, 6, DESCRIPTOR_CONFIGURATION << 8, 0, length);
    this.control(setup(0, 5, 1, 0, 0));
    this.control(configuration(9), (head) => {
      this.control(configuration(head[2] | (head[3] << 8)), (all) => this.findEndpoints(all));
      this.control(setup(0, 9, 1, 0, 0), () => {
        this.configured = true;
        this.setOpen(this.open);
        this.onConfigured();
      });
    });
  }

  findEndpoints(descriptors) {
    let is_data = false;
    for (let i = 0; i + 1 < descriptors.length; i += descriptors[i]) {
      if (descriptors[i + 1] === DESCRIPTOR_INTERFACE) {
        is_data = descriptors[i + 5] === CLASS_CDC_DATA;
      } else if (descriptors[i + 1] === DESCRIPTOR_ENDPOINT && is_data) {
        const address = descriptors[i + 2];
        if (address & 0x80) this.in_endpoint = address & 15;
        else this.out_endpoint = address & 15;
      }
      if (!descriptors[i]) break;
    }
  }

  // --- the port

  /** A program on the host opens or closes the port. */
  setOpen(open) {
    this.open = open;
    if (this.configured) this.control(setup(0x21, 0x22, open ? DTR_AND_RTS : 0, 0, 0));
  }

  /** Send bytes to the device. @param {Uint8Array} bytes */
  send(bytes) {
    if (bytes.length === 0) return;
    this.queue.push(bytes);
    // before that the device takes nothing: it asks for what is queued when it can
    if (this.configured && this.controller.room(this.out_endpoint) !== null) {
      this.armed(this.out_endpoint, true);
    }
  }

  /** Begin or stop to take what the device has. */
  setTaking(taking) {
    this.taking = taking;
    if (taking && this.in_endpoint > 0 && this.controller.buffer(this.in_endpoint, false)) {
      this.armed(this.in_endpoint, false);
    }
  }
}
