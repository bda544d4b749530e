// What a worker tells every page unasked: that space is short, or what has become of an object.

import { checkFields, checkNumber } from '../contract/check.ts';
import type { StorageSpace } from '../contract/connection-status.ts';
import { checkAddress } from './check-objects.ts';
import type { WireAddress } from './object-protocol.ts';

export type Notice =
  | { readonly type: 'storagelow'; readonly space: StorageSpace }
  | { readonly type: 'historypruned' | 'objectmissing'; readonly address: WireAddress };

/** Where notices come from. */
export interface Notices {
  /** Calls back for each notice from now on; the result ends this. */
  subscribe(listener: (notice: Notice) => void): () => void;
}

/** A notice that has arrived; null for anything else. */
export function checkNotice(value: unknown): Notice | null {
  try {
    const { type, space, address } = checkFields('notice', value);
    if (type === 'storagelow') {
      const { usage, quota } = checkFields('space', space);
      const checked = { usage: checkNumber('usage', usage), quota: checkNumber('quota', quota) };
      return { type, space: checked };
    }
    if (type !== 'historypruned' && type !== 'objectmissing') return null;
    return { type, address: checkAddress(address) };
  } catch {
    return null; // of another version, or of other code
  }
}
