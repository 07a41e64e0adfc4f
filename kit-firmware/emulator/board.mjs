/**
 * An emulated Raspberry Pi Pico: rp2040js' processor and simple peripherals, with our own clock,
 * pads, PIO, DMA, timer and USB around it, all on one cycle counter.
 */
import { RP2040 } from 'rp2040js';
import { CycleClock } from './clock.mjs';
import { Core } from './core.mjs';
import { Dma } from './dma.mjs';
import { Edges } from './edges.mjs';
import { Fabric } from './fabric.mjs';
import { FlashChip } from './flash-chip.mjs';
import { Net } from './net.mjs';
import { PAD_COUNT, override } from './pads.mjs';
import { PioRegisters } from './pio-registers.mjs';
import { installRom } from './rom.mjs';
import { PowerOnMachine, Sio } from './sio.mjs';
import { SystemControl } from './system-control.mjs';
import { VoltageRegulator } from './regulator.mjs';
import { Timer } from './timer.mjs';
import { UsbController, UsbHost } from './usb.mjs';

export const FLASH_SIZE = 2 * 1024 * 1024;
const RAM = 0x20000000;
const VECTOR_TABLE = 0x10000100;
const PIO_IRQS = [7, 9];
const PAD_AT_RESET = 0x56;
const PULL_DOWN = 4;
const PULL_UP = 8;
const INPUT_ENABLE = 0x40;
const OUTPUT_DISABLE = 0x80;
const FUNCTIONS = { pwm: 4, sio: 5, pio0: 6, pio1: 7 };
const DEFAULT_UNIQUE_ID = Uint8Array.of(0xe6, 0x61, 0x54, 0x45, 0x4e, 0x4e, 0x49, 0x53);

/** Says what is wrong on stderr, and stays silent otherwise. */
const QUIET_LOGGER = {
  debug() {},
  info() {},
  warn() {},
  error: (component, message) => console.error(`emulator: ${component}: ${message}`),
};

class Chip extends RP2040 {
  constructor(clock, fabric) {
    super(clock);
    this.fabric = fabric;
    this.onFlashChange = () => {};
  }

  /** What the processor reads of all pins. */
  get gpioValues() {
    // asked for while the base class constructs itself, too
    return this.fabric ? this.fabric.pads.synchronised : 0;
  }
}

export class Board {
  /**
   * @param {object} options
   * @param {Uint8Array} [options.flash] at most 2 MB, MicroPython first
   * @param {import('./elf.mjs').Segment[]} [options.program] for RAM, whose first word is executed
   *   first, as the boot ROM does it
   * @param {boolean} [options.skipping] false: step every cycle (slow; for tests)
   * @param {Uint8Array} [options.unique_id] 8 bytes
   * @param {[number, number][]} [options.wires] pairs of pads
   * @param {Record<string, number> | null} [options.edges] how edges travel (edges.mjs); null: at once
   * @param {Record<string, any> | null} [options.net] what the pads are wired to (net.mjs), besides `wires`
   */
  constructor({
    flash = new Uint8Array(0),
    program = [],
    skipping = true,
    unique_id = DEFAULT_UNIQUE_ID,
    wires = [],
    edges = null,
    net = null,
  }) {
    if (flash.length > FLASH_SIZE) throw new Error('the flash image has more than 2 MB');
    this.flash = new Uint8Array(FLASH_SIZE).fill(0xff);
    this.flash.set(flash);
    this.options = { skipping, unique_id, edges };
    this.net = net;
    this.program = program;
    this.wires = wires;
    /** Called when levels of pads change: (mask, cycle). */
    this.pad_listeners = [];
    /** Bytes came over USB. */
    this.onSerial = () => {};
    /** Set it to leave `run` before its limit. */
    this.stop = false;
    this.reset_wanted = false;
    this.host_open = true;
    this.powerOn(0);
  }

  get cycle() {
    return this.fabric.now;
  }

  /** Emulated time in seconds since the board was made; a reset does not set it back. */
  get emulated_s() {
    return this.before_reset_s + this.mcu.clock.nanos / 1e9;
  }

  get clk_sys() {
    return this.mcu.clkSys;
  }

  /** Begin anew, with nothing kept but flash, wires and the count of cycles. */
  powerOn(cycle) {
    this.before_reset_s = this.mcu ? this.emulated_s : 0;
    const fabric = new Fabric({ skipping: this.options.skipping });
    fabric.now = cycle;
    const clock = new CycleClock(() => fabric.now);
    const mcu = new Chip(clock, fabric);
    this.fabric = fabric;
    this.mcu = mcu;
    clock.base_cycle = cycle;
    clock.base_ns = 0;
    clock.onChange = () => fabric.reschedule();
    fabric.clock = clock;
    mcu.logger = QUIET_LOGGER;
    mcu.core = new Core(mcu);
    mcu.sio = new Sio(mcu);
    mcu.ppb = new SystemControl(mcu, clock);
    installRom(mcu);
    mcu.flash.set(this.flash);
    mcu.onFlashChange = (offset, length) => {
      this.flash.set(mcu.flash.subarray(offset, offset + length), offset);
    };
    new FlashChip(mcu, this.options.unique_id);
    mcu.dma = new Dma(mcu, fabric);
    mcu.pio = fabric.pio.map(
      (block, i) => new PioRegisters(mcu, fabric, block, PIO_IRQS[i], mcu.dma),
    );
    mcu.dma.pioWants = (request) => mcu.pio[request >> 3].wants(request & 7);
    mcu.usbCtrl = new UsbController(mcu);
    Object.assign(mcu.peripherals, {
      0x40010: new PowerOnMachine(mcu, 'PSM'),
      0x40054: new Timer(mcu, clock),
      0x40064: new VoltageRegulator(mcu, 'VREG_AND_CHIP_RESET'),
      0x50000: mcu.dma,
      0x50110: mcu.usbCtrl,
      0x50200: mcu.pio[0],
      0x50300: mcu.pio[1],
    });
    mcu.peripherals[0x40058].onWatchdogTrigger = () => {
      this.reset_wanted = true;
    };
    const setFrequency = (hertz) => {
      clock.setFrequency(hertz);
      fabric.pads.cycles_a_ns = hertz / 1e9;
    };
    mcu.addClockListener(setFrequency);
    clock.frequency = mcu.clkSys;
    fabric.pads.cycles_a_ns = mcu.clkSys / 1e9;
    this.usb = new UsbHost(mcu.usbCtrl);
    this.usb.open = this.host_open;
    this.usb.onData = (data) => this.onSerial(data);
    this.setUpPads();

    const { core } = mcu;
    if (this.program.length) {
      for (const { address, bytes } of this.program) mcu.sram.set(bytes, address - RAM);
      core.PC = RAM;
    } else {
      core.VTOR = VECTOR_TABLE;
      core.SP = mcu.readUint32(VECTOR_TABLE);
      core.PC = (mcu.readUint32(VECTOR_TABLE + 4) & ~1) >>> 0;
    }
    /** The cycle in which the processor may execute its next instruction. */
    this.processor_at = cycle;
    fabric.outputsChanged();
  }

  setUpPads() {
    const { mcu, fabric } = this;
    const { pads } = fabric;
    for (const [a, b] of this.wires) pads.connect(a, b);
    if (this.options.edges) pads.edges = new Edges(this.options.edges);
    if (this.net) this.wire(this.net);
    this.functions = { pwm: 0, sio: 0, pio0: 0, pio1: 0 };
    this.output_disables = 0;
    this.output_overrides = [0, 0, 0, 0];
    this.enable_overrides = [0, 0, 0, 0];
    this.configured = mcu.gpio.map(() => [-1, -1]);
    mcu.gpio.forEach((gpio, i) => {
      gpio.padValue = PAD_AT_RESET;
      // called after every write that may change an output, or the pin's configuration
      gpio.checkForUpdates = () => {
        this.configurePad(i);
        fabric.outputsChanged();
      };
      this.configurePad(i);
    });
    fabric.collectOutputs = () => this.collectOutputs(fabric);
    fabric.onConflict = (mask) => {
      const names = mcu.gpio.flatMap((_, i) => (mask & (1 << i) ? [`GP${i}`] : []));
      console.error(`emulator: two drivers disagree on ${names.join(', ')}`);
    };
    fabric.onPads = (mask, cycle) => {
      for (let i = 0; i < PAD_COUNT; i++) {
        if (mask & (1 << i)) mcu.gpio[i].setInputValue((pads.levels & (1 << i)) !== 0);
      }
      for (const listener of this.pad_listeners) listener(mask, cycle);
    };
  }

  /** Plug other wires: a net (net.mjs), from now on. */
  wire(net) {
    this.net = net;
    this.fabric.pads.net = new Net(net, (cycles, action) => {
      const { fabric } = this;
      fabric.at(fabric.now + cycles, () => {
        action();
        fabric.pads_at = Math.min(fabric.pads_at, fabric.now);
      });
    });
    this.fabric.outputsChanged();
  }

  /** Take over what the registers of a pin say. */
  configurePad(i) {
    const { ctrl, padValue } = this.mcu.gpio[i];
    const configured = this.configured[i];
    if (configured[0] === ctrl && configured[1] === padValue) return;
    configured[0] = ctrl;
    configured[1] = padValue;
    const { pads } = this.fabric;
    const bit = 1 << i;
    const choose = (mask, chosen) => (chosen ? mask | bit : mask & ~bit);
    const selected = ctrl & 0x1f;
    for (const [name, number] of Object.entries(FUNCTIONS)) {
      this.functions[name] = choose(this.functions[name], selected === number);
    }
    for (let n = 1; n < 4; n++) {
      this.output_overrides[n] = choose(this.output_overrides[n], ((ctrl >>> 8) & 3) === n);
      this.enable_overrides[n] = choose(this.enable_overrides[n], ((ctrl >>> 12) & 3) === n);
      pads.input_overrides[n] = choose(pads.input_overrides[n], ((ctrl >>> 16) & 3) === n);
    }
    pads.pull_ups = choose(pads.pull_ups, padValue & PULL_UP);
    pads.pull_downs = choose(pads.pull_downs, padValue & PULL_DOWN);
    pads.readable = choose(pads.readable, padValue & INPUT_ENABLE);
    this.output_disables = choose(this.output_disables, padValue & OUTPUT_DISABLE);
  }

  /** What the selected functions put out. @param {Fabric} fabric the board's, or a copy of it */
  collectOutputs(fabric) {
    const { pwm, sio, pio0, pio1 } = this.functions;
    const { pwm: pwm_unit, sio: sio_unit } = this.mcu;
    const { pads } = fabric;
    const [block0, block1] = fabric.pio;
    const levels =
      (block0.pinValues & pio0) |
      (block1.pinValues & pio1) |
      (sio_unit.gpioValue & sio) |
      (pwm_unit.gpioValue & pwm);
    const enables =
      (block0.pinDirections & pio0) |
      (block1.pinDirections & pio1) |
      (sio_unit.gpioOutputEnable & sio) |
      (pwm_unit.gpioDirection & pwm);
    pads.outputs = override(levels, this.output_overrides);
    pads.enables = override(enables, this.enable_overrides) & ~this.output_disables;
  }

  /** Which PIO block drives a pad; null if none does. */
  pioDriving(pad) {
    if (this.functions.pio0 & (1 << pad)) return 0;
    return this.functions.pio1 & (1 << pad) ? 1 : null;
  }

  /** The outside world drives a pad from a time on (in cycles); null lets go of it. */
  drive(pad, level, time = this.cycle) {
    const cycle = Math.floor(time);
    this.fabric.at(cycle, () => this.fabric.drive(pad, level, time - cycle));
  }

  level(pad) {
    return (this.fabric.pads.levels >>> pad) & 1;
  }

  /** Plug in a program on the host that holds the port open, or unplug it. */
  setOpen(open) {
    this.host_open = open;
    this.usb.setOpen(open);
    this.fabric.reschedule();
  }

  /** Send bytes over USB. @param {Uint8Array} bytes */
  send(bytes) {
    this.usb.send(bytes);
  }

  /**
   * Run until exactly a cycle is reached, or until `stop` is set.
   * @param {number} limit
   */
  run(limit) {
    this.stop = false;
    while (this.fabric.now < limit && !this.stop) {
      if (this.processor_at > this.fabric.now) {
        this.fabric.advance(Math.min(this.processor_at, limit));
      } else if (this.mcu.core.waiting) this.sleep(limit);
      else this.work(limit);
      if (this.reset_wanted) {
        this.reset_wanted = false;
        this.powerOn(this.fabric.now);
      }
    }
  }

  /** The processor executes until something else is to be done. */
  work(limit) {
    const { fabric } = this;
    const { core } = this.mcu;
    while (fabric.now < fabric.next && fabric.now < limit && !core.waiting) {
      fabric.now += core.executeInstruction();
    }
    // the last instruction may end behind the limit: then the processor waits, the others do not
    this.processor_at = fabric.now;
    fabric.advance(Math.min(fabric.now, limit));
  }

  /** The processor waits for an interrupt or event. */
  sleep(limit) {
    const { fabric } = this;
    fabric.advance(Math.max(fabric.now, Math.min(fabric.next, limit)));
    this.mcu.core.wakeIfPending();
  }
}
