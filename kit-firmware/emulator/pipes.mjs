/** Blocking reads and writes on inherited pipes: no event loop, so no host timing. */
import { readSync, writeSync } from 'node:fs';

const RETRY_MS = 1;
const never = new Int32Array(new SharedArrayBuffer(4));

/** The other end has closed the pipe. */
export class EndOfPipe extends Error {}

function retrying(operation) {
  for (;;) {
    try {
      return operation();
    } catch (error) {
      // somebody has made the pipe non-blocking
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(never, 0, 0, RETRY_MS);
    }
  }
}

/** Read exactly so many bytes. */
export function readExactly(fd, length) {
  const buffer = Buffer.alloc(length);
  for (let have = 0; have < length; ) {
    const count = retrying(() => readSync(fd, buffer, have, length - have, null));
    if (count === 0) throw new EndOfPipe(`the other end of descriptor ${fd} is closed`);
    have += count;
  }
  return buffer;
}

export function writeAll(fd, buffer) {
  for (let done = 0; done < buffer.length; ) {
    done += retrying(() => writeSync(fd, buffer, done, buffer.length - done));
  }
}
