/**
 * The board under the control of a program on the other end of two pipes, without host timing:
 * the same messages in give the same messages out.
 *
 * A message is u8 kind, u32 length, payload (little endian). The host writes WRITE (bytes for the
 * serial port), AT_READY (bytes to be sent when the link says that the target is ready), RESPOND
 * (a script, as of --respond, or a net, as of --net: from now on that is at the pads), GO (u64: run for so many
 * cycles at most, 0 for any number) and QUIT. GO is answered by exactly one of
 * DATA (bytes from the serial port; the board stops as soon as there are any), TIME (u64: the
 * cycle that the limit came to) or FAULT (text). A NOTE (text) may come before that answer:
 * why the target at the link has ended (target_ended, never_ready), or a horizon that it missed.
 */
import { EndOfPipe, readExactly, writeAll } from './pipes.mjs';

const FROM_HOST = { WRITE: 1, GO: 2, AT_READY: 3, QUIT: 4, RESPOND: 5 };
const TO_HOST = { DATA: 1, TIME: 2, FAULT: 3, NOTE: 4 };
const HEADER_SIZE = 5;

function readMessage(fd) {
  const header = readExactly(fd, HEADER_SIZE);
  return { kind: header[0], payload: readExactly(fd, header.readUInt32LE(1)) };
}

function encode(kind, payload) {
  const header = Buffer.alloc(HEADER_SIZE);
  header[0] = kind;
  header.writeUInt32LE(payload.length, 1);
  return Buffer.concat([header, payload]);
}

function cycleBytes(cycle) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(cycle));
  return bytes;
}

/**
 * Serve the host until it quits.
 * @param {import('./board.mjs').Board} board
 * @param {[number, number]} descriptors from and to the host
 * @param {import('./link.mjs').Link | null} link to a target in QEMU
 * @param {(text: string) => void} respond lets another scripted target be at the pads
 */
export function serveLockstep(board, [in_fd, out_fd], link, respond) {
  const writeMessage = (kind, payload) => writeAll(out_fd, encode(kind, payload));
  let received = [];
  board.onSerial = (data) => {
    received.push(Buffer.from(data));
    board.stop = true;
  };
  if (link) link.onNote = (text) => writeMessage(TO_HOST.NOTE, Buffer.from(text));

  const go = (cycles) => {
    const limit = cycles ? board.cycle + cycles : Infinity;
    try {
      if (received.length === 0) {
        if (link) link.run(limit, () => received.length > 0);
        else board.run(limit);
      }
    } catch (error) {
      writeMessage(TO_HOST.FAULT, Buffer.from(error.message));
      return;
    }
    if (received.length) {
      writeMessage(TO_HOST.DATA, Buffer.concat(received));
      received = [];
    } else writeMessage(TO_HOST.TIME, cycleBytes(board.cycle));
  };

  try {
    for (;;) {
      const { kind, payload } = readMessage(in_fd);
      if (kind === FROM_HOST.WRITE) board.send(new Uint8Array(payload));
      else if (kind === FROM_HOST.GO) go(Number(payload.readBigUInt64LE(0)));
      else if (kind === FROM_HOST.AT_READY) {
        if (!link) throw new Error('AT_READY without --link');
        link.at_ready = new Uint8Array(payload);
      } else if (kind === FROM_HOST.RESPOND) respond(payload.toString());
      else if (kind === FROM_HOST.QUIT) break;
      else throw new Error(`a message of kind ${kind}, which there is not`);
    }
  } catch (error) {
    // the host going away without a word is an end like any other
    if (!(error instanceof EndOfPipe)) throw error;
  } finally {
    link?.quit();
  }
}
