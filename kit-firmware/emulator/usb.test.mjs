/** The USB host against a device that this test plays in the controller's memory. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { CycleClock } from './clock.mjs';
import { UsbController, UsbHost } from './usb.mjs';

const IN_CONTROL = 0x08 + 8 * 1; // endpoint 2
const IN_BUFFER_CONTROL = 0x80 + 8 * 2;
const OUT_CONTROL = IN_CONTROL + 4;
const OUT_BUFFER_CONTROL = IN_BUFFER_CONTROL + 4;
const AVAILABLE = 1 << 10;
const FULL = 1 << 15;
const SELECT = 1 << 12;
const DOUBLE = (1 << 30) | (1 << 28);

function build() {
  const state = { cycle: 0 };
  const clock = new CycleClock(() => state.cycle);
  const memory = new Uint8Array(4096);
  const chip = {
    clock,
    usbDPRAM: memory,
    usbDPRAMView: new DataView(memory.buffer),
    setInterrupt() {},
    logger: { debug() {}, info() {}, warn() {}, error: assert.fail },
  };
  const controller = new UsbController(chip);
  const host = new UsbHost(controller);
  Object.assign(host, { in_endpoint: 2, out_endpoint: 2, configured: true });
  const run = (until_ms) => {
    const last = until_ms * 125e3;
    while (clock.next <= last) {
      state.cycle = clock.next;
      clock.fire(clock.next);
    }
    state.cycle = last;
  };
  const arm = (offset, value) => {
    chip.usbDPRAMView.setUint32(offset, value, true);
    controller.DPRAMUpdated(offset, value >>> 0);
  };
  return { clock, chip, controller, host, run, arm };
}

test('nineteen packets fit into a frame', () => {
  const { chip, controller, host, run, arm } = build();
  let packets = 0;
  host.onData = () => packets++;
  chip.usbDPRAMView.setUint32(IN_CONTROL, 0x200, true);
  // the device has the next packet at once
  controller.indicateBufferReady = () => arm(IN_BUFFER_CONTROL, SELECT | FULL | AVAILABLE | 64);
  controller.indicateBufferReady();
  run(10.001);
  assert.equal(packets, 190);
});

test('a host that takes nothing lets the device wait, and loses nothing', () => {
  const { chip, controller, host, run, arm } = build();
  const data = [];
  let done = 0;
  host.onData = (packet) => data.push(...packet);
  controller.indicateBufferReady = () => done++;
  chip.usbDPRAMView.setUint32(IN_CONTROL, 0x200, true);
  chip.usbDPRAM.set([1, 2, 3], 0x200);
  host.setTaking(false);
  arm(IN_BUFFER_CONTROL, SELECT | FULL | AVAILABLE | 3);
  run(100);
  assert.equal(done, 0);
  assert.ok(controller.buffer(2, false));
  host.setTaking(true);
  run(101);
  assert.equal(done, 1);
  assert.deepEqual(data, [1, 2, 3]);
});

test('a double buffer goes in order, with one interrupt', () => {
  const { chip, controller, host, run, arm } = build();
  const data = [];
  let done = 0;
  host.onData = (packet) => data.push(packet.length, packet[0]);
  controller.indicateBufferReady = () => done++;
  chip.usbDPRAMView.setUint32(IN_CONTROL, (DOUBLE | 0x200) >>> 0, true);
  chip.usbDPRAM[0x200] = 1;
  chip.usbDPRAM[0x240] = 2;
  arm(IN_BUFFER_CONTROL, ((FULL | AVAILABLE | 5) << 16) | SELECT | FULL | AVAILABLE | 64);
  run(1);
  assert.deepEqual(data, [64, 1, 5, 2]);
  assert.equal(done, 1);
});

test('a device hears nothing while the host has nothing, and gets all of it in order', () => {
  const { chip, controller, host, run, arm } = build();
  const got = [];
  const rearm = () => arm(OUT_BUFFER_CONTROL, SELECT | AVAILABLE | 64);
  controller.indicateBufferReady = () => {
    const length = chip.usbDPRAMView.getUint32(OUT_BUFFER_CONTROL, true) & 0x3ff;
    got.push(...chip.usbDPRAM.subarray(0x300, 0x300 + length));
    rearm();
  };
  chip.usbDPRAMView.setUint32(OUT_CONTROL, 0x300, true);
  rearm();
  run(50);
  assert.deepEqual(got, []);
  const bytes = Uint8Array.from({ length: 200 }, (_, i) => i);
  host.send(bytes.subarray(0, 150));
  host.send(bytes.subarray(150));
  run(60);
  assert.deepEqual(got, [...bytes]);
});
