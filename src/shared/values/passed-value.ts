// Refuses values that peers pass to a program, and that would hold it for seconds.

import { type StorageError, storageError } from '../contract/errors.ts';
import { READ_ELEMENTS_MAX } from '../contract/limits.ts';
import { deserializeFromPeer, type PeerValue, type ResolveReference } from './decode.ts';

const FACTS = {
  repeated:
    'repeat more than 16 MiB: an object that occurs several times counts at each place. Pass it once, and ids of it',
  numbers: `have more than ${READ_ELEMENTS_MAX} numbers and bigints as keys of Maps and elements of Sets. Pass arrays, or strings as keys`,
};

/** Deserializes a value that a peer passes to a program. @throws INVALID_ARGUMENT, CORRUPT */
export function passedValue(bytes: Uint8Array, resolve?: ResolveReference): unknown {
  const passed = deserializeFromPeer(bytes, resolve);
  const error = refusalOf({ ...passed, isCyclic: false });
  if (error) throw error;
  return passed.value;
}

/** Returns the error for a value that no program may get, or that contains itself. */
export function refusalOf({ refusal, isCyclic }: PeerValue): StorageError | undefined {
  const fact = refusal
    ? FACTS[refusal]
    : isCyclic && 'contain themselves. Pass ids of objects instead';
  return fact ? storageError('INVALID_ARGUMENT', `The passed values ${fact}.`) : undefined;
}
