// Declares the notices of a host, for pages and for code beside the objects.

import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { Space } from '../../engine/file/space-watch.ts';

/** A notice of a host for its listeners: pages, and code beside the objects. */
export type HostNotice =
  /** Fewer free bytes than `limits.lowSpaceBytes` are left. */
  | { readonly type: 'storagelow'; readonly space: Space }
  /** The oldest history of an object was deleted, because the disk is full. */
  | { readonly type: 'historypruned'; readonly address: ObjectAddress }
  /** A result of a live read could not be stored, or stored results could not be deleted. */
  | { readonly type: 'keepfailed'; readonly address: ObjectAddress }
  /** An object that was stored has no files any more. */
  | { readonly type: 'objectmissing'; readonly address: ObjectAddress };

export class HostNotices {
  readonly #listeners = new Set<(notice: HostNotice) => void>();

  subscribe(listener: (notice: HostNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(notice: HostNotice): void {
    for (const listener of this.#listeners) listener(notice);
  }
}
