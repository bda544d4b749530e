// News of a host, for pages and for code beside the objects.

import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { Space } from '../../engine/file/space-watch.ts';

/** News of a host for its listeners: pages, and code beside the objects. */
export type HostNotice =
  /** Less than `limits.lowSpaceBytes` is left. */
  | { readonly type: 'storagelow'; readonly space: Space }
  /** The oldest history of an object was given up, because the disk is full. */
  | { readonly type: 'historypruned'; readonly address: ObjectAddress }
  /** A result of a live read could not be kept, or what was kept could not be deleted. */
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
