#!/usr/bin/env node
/** An emulated Raspberry Pi Pico on the command line; see README.md. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Board } from './board.mjs';
import { parseEdges } from './edges.mjs';
import { segmentsOf } from './elf.mjs';
import { Link, QemuPipes } from './link.mjs';
import { serveLockstep } from './lockstep.mjs';
import { parseNet } from './net.mjs';
import { PAD_COUNT } from './pads.mjs';
import { Pair } from './pair.mjs';
import { parseScript, respond } from './respond.mjs';
import { TargetBoard } from './target-board.mjs';
import { serveTcp } from './tcp.mjs';

const USAGE = `usage: main.mjs [options] tcp PORT[,CLOCK] | lockstep [IN,OUT]

  tcp: the USB serial port, and who wants to know how far emulated time is asks CLOCK

  lockstep takes messages from descriptor IN (3) and sends them to OUT (4)

  --firmware FILE    MicroPython's firmware.bin, put at the beginning of the flash
  --flash FILE       an image of the whole flash (at most 2 MB)
  --connect A-B,...  wires between pads, for example 2-6,7-3
  --edges JSON       how edges travel: {"pad_ns":3,"wire_ns":0,"rc_ns":7,"rising":0.5,"falling":0.5}
  --net JSON         what the pads are wired to, in ohms (net.mjs): {"resistors":[["gp2","t_ping",330]],
                     "rise":1000,"width":1250}
  --second PPM       tcp: a second Pico answers the pings, whose crystal is so much faster; its
                     port and its clock are named behind the first one's
  --respond JSON     a scripted target on the pads ping and reply
  --link [IN,OUT]    lockstep: a target in QEMU; descriptors from it (5) and to it (6)
  --target ELF       lockstep: a target on a second Pico, which shares the time
  --console FILE     where that target's UART writes to
  --ping PAD         the pad of the ping (2)
  --reply PAD        the pad of the reply (3)
  --unique-id HEX    the board's unique ID, 16 hexadecimal digits
  --fast             tcp: run as fast as possible, not at most in real time`;

function fail(message) {
  console.error(`emulator: ${message}`);
  process.exit(2);
}

function padOf(text, option) {
  if (!/^\d+$/.test(text) || Number(text) >= PAD_COUNT) fail(`${option}: ${text} is not a pad`);
  return Number(text);
}

function wiresOf(text) {
  return text.split(',').map((wire) => {
    const pads = wire.split('-').map((pad) => padOf(pad, '--connect'));
    if (pads.length !== 2) fail(`--connect: ${wire} is not a pair of pads like 2-6`);
    return pads;
  });
}

/** Parse what an option gives as JSON. */
function parsed(parse, text, option) {
  try {
    return parse(text);
  } catch (error) {
    return fail(`${option}: ${error.message}`);
  }
}

const DESCRIPTORS = /^\d+,\d+$/;

/** The arguments, with what --link stands for where it has no value. */
function commandLine() {
  return process.argv.slice(2).flatMap((argument, i, all) => {
    const bare = argument === '--link' && !DESCRIPTORS.test(all[i + 1] ?? '');
    return bare ? ['--link', '5,6'] : [argument];
  });
}

function descriptorsOf(text, option) {
  if (!DESCRIPTORS.test(text)) fail(`${option}: ${text} is not a pair of descriptors like 3,4`);
  return text.split(',').map(Number);
}

function targetOf(elf, console_file) {
  try {
    return new TargetBoard(segmentsOf(readFileSync(elf)), console_file);
  } catch (error) {
    return fail(`${elf}: ${error.message}`);
  }
}

/** The second Pico, whose unique ID ends in another byte. */
function secondOf(text, board, { ping, reply }, options) {
  if (!/^-?\d+(\.\d+)?$/.test(text)) fail(`--second: ${text} is not a number of ppm`);
  const unique_id = Uint8Array.from(board.options.unique_id);
  unique_id[7] ^= 1;
  const second = new Board({ ...options, unique_id });
  return new Pair(board, second, { ping, reply, listen: 6, answer: 7 }, Number(text));
}

function options() {
  try {
    return parseArgs({
      args: commandLine(),
      allowPositionals: true,
      options: {
        firmware: { type: 'string' },
        flash: { type: 'string' },
        connect: { type: 'string' },
        edges: { type: 'string' },
        net: { type: 'string' },
        second: { type: 'string' },
        respond: { type: 'string' },
        link: { type: 'string' },
        target: { type: 'string' },
        console: { type: 'string', default: '/dev/stderr' },
        ping: { type: 'string', default: '2' },
        reply: { type: 'string', default: '3' },
        'unique-id': { type: 'string' },
        fast: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return fail(`${error.message}\n${USAGE}`);
  }
}

function flashOf({ firmware, flash }) {
  if (!firmware && !flash) fail(`--firmware or --flash is needed\n${USAGE}`);
  const image = flash ? new Uint8Array(readFileSync(flash)) : new Uint8Array(0);
  if (!firmware) return image;
  const program = readFileSync(firmware);
  const whole = new Uint8Array(Math.max(image.length, program.length));
  whole.set(image);
  whole.set(program);
  return whole;
}

function main() {
  const { values, positionals } = options();
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const id = values['unique-id'] ?? '';
  if (id && !/^[0-9a-f]{16}$/i.test(id)) fail('--unique-id takes 16 hexadecimal digits');
  const common = {
    flash: flashOf(values),
    edges: values.edges ? parsed(parseEdges, values.edges, '--edges') : null,
  };
  const board = new Board({
    ...common,
    wires: values.connect ? wiresOf(values.connect) : [],
    net: values.net ? parsed(parseNet, values.net, '--net') : null,
    ...(id && { unique_id: new Uint8Array(Buffer.from(id, 'hex')) }),
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(0));

  const pins = { ping: padOf(values.ping, '--ping'), reply: padOf(values.reply, '--reply') };
  if (values.respond) respond(board, parsed(parseScript, values.respond, '--respond'), pins);
  const [mode, argument] = positionals;
  if (mode === 'tcp' && /^\d+(,\d+)?$/.test(argument ?? '')) {
    if (values.link || values.target) fail('--link and --target need lockstep');
    const onError = (error) => {
      console.error(`emulator: ${error.message}`);
      process.exit(1);
    };
    const ports = argument.split(',').map(Number);
    const pair = values.second && secondOf(values.second, board, pins, common);
    const boards = pair ? [board, pair.second] : [board];
    const run = (limit) => (pair ?? board).run(limit);
    serveTcp(boards, { ports, run, fast: values.fast, onError });
  } else if (mode === 'lockstep') {
    if (values.second) fail('--second needs tcp');
    if (values.net && (values.link || values.target)) fail('--net has a target of its own');
    const link = values.target
      ? targetOf(values.target, values.console)
      : values.link && new QemuPipes(...descriptorsOf(values.link, '--link'));
    const host = descriptorsOf(argument ?? '3,4', 'lockstep');
    const replace = (text) => {
      if ('resistors' in JSON.parse(text)) board.wire(parseNet(text));
      else respond(board, parseScript(text), pins);
    };
    serveLockstep(board, host, link ? new Link(board, pins, link) : null, replace);
  } else fail(`a mode is needed: tcp PORT or lockstep\n${USAGE}`);
}

main();
