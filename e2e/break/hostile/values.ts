// Stored values that nobody wrote: encoded ones changed at random, and ones made to be expensive.
//
// Judged: reading ends within a bound, with a value or with CORRUPT; a value can be looked at and
// written again; nothing shared is polluted; nothing that lies beside the bytes in memory is in it.

import { serialize as serializeV8 } from 'node:v8';
import type { Draws } from '../../../packages/testing/page/draws.ts';
import { isStorageError } from '../../../src/shared/contract/errors.ts';
import { VALUE_BYTES_MAX } from '../../../src/shared/contract/limits.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { decodeValue } from '../../../src/shared/values/value.ts';
import { mutate } from './byte-mutations.ts';
import { PollutionWatch } from './pollution.ts';
import type { Surface } from './surface.ts';
import { expensiveBytes, randomValue } from './value-grammar.ts';

/**
 * Processor time, which other programs of the machine do not stretch: twice that of the slowest value
 * within the bounds (65,000 errors), and half the time of one expression before the bounds.
 */
const DECODE_MS_MAX = 4000;

export async function openValues(): Promise<Surface> {
  const pollution = new PollutionWatch();
  return {
    casesPerSeed: 100,
    async attack(draws) {
      const bytes = hostileBytes(draws);
      const fault = judge(bytes, pollution);
      return fault === undefined ? undefined : `${fault}\n  ${hex(bytes)}`;
    },
    async close() {},
  };
}

function hostileBytes(draws: Draws): Uint8Array {
  if (draws.chance(0.05)) {
    return expensiveBytes(draws, draws.pick([VALUE_BYTES_MAX - 100, 2 ** 18]));
  }
  const value = randomValue(draws, 4);
  let bytes: Uint8Array = draws.chance(0.5) ? serialize(value) : serializeByV8(value);
  const count = 1 + draws.below(6);
  for (let i = 0; i < count; i++) bytes = mutate(bytes, draws);
  return bytes;
}

/** V8 stores no host objects; without them its bytes have other forms of the same values. */
function serializeByV8(value: unknown): Uint8Array {
  try {
    return new Uint8Array(serializeV8(value));
  } catch {
    return serialize(value);
  }
}

const CANARY = 'canary beside the value';

function judge(bytes: Uint8Array, pollution: PollutionWatch): string | undefined {
  // A window on larger memory, as a value in the heap of WebAssembly is.
  const canary = Buffer.from(CANARY);
  const memory = Buffer.concat([canary, bytes, canary]);
  const window = memory.subarray(canary.length, canary.length + bytes.length);
  const start = process.cpuUsage();
  let value: unknown;
  let fault: string | undefined;
  try {
    value = decodeValue(window);
  } catch (error) {
    if (!isStorageError(error) || error.code !== 'CORRUPT') fault = `reading threw ${error}`;
    else if (error.message.includes(CANARY)) fault = 'the error shows memory beside the value';
  }
  const used = process.cpuUsage(start);
  const tookMs = (used.user + used.system) / 1000;
  fault ??= rewritingFault(value);
  if (tookMs > DECODE_MS_MAX) return `reading took ${Math.round(tookMs)} ms`;
  const polluted = pollution.found();
  return polluted === undefined ? fault : polluted;
}

/**
 * A value that was read is an ordinary value: written again, it can be read again, or its errors are
 * known.
 */
function rewritingFault(value: unknown): string | undefined {
  let bytes: Uint8Array;
  try {
    bytes = serialize(value);
  } catch (error) {
    // A host object may describe a value that no program can store: a body, a blob outside of a worker.
    const isKnown =
      (error instanceof DOMException && error.name === 'DataCloneError') ||
      error instanceof RangeError;
    return isKnown ? undefined : `writing what was read threw ${error}`;
  }
  if (Buffer.from(bytes).includes(CANARY)) return 'the value holds memory beside its bytes';
  try {
    decodeValue(bytes);
  } catch (error) {
    // Text that was UTF-8 may take more bytes now, and so exceed the bound.
    if (bytes.length <= VALUE_BYTES_MAX) return `what was written again reads as ${error}`;
  }
  return undefined;
}

function hex(bytes: Uint8Array): string {
  const shown = Buffer.from(bytes.subarray(0, 400)).toString('hex');
  return bytes.length > 400 ? `${shown}… (${bytes.length} bytes)` : shown;
}
