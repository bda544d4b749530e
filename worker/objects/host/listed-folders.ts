// The folders of facets and branches that a host finds, by their keys.
//
// Looking at all folders takes long when there are many, so it happens once a host. Invariant: folders of an earlier host
// are listed; of those made by this one, some are not. No assertion keeps this: that would take a second look at all
// folders.

import { COPY_MARK } from '../../../src/shared/contract/object-id.ts';
import type { ObjectMedium } from '../../engine/file/medium.ts';

export interface FolderList {
  readonly facets: readonly string[];
  readonly branches: readonly string[];
}

export class ListedFolders {
  readonly #medium: Pick<ObjectMedium, 'keys'>;
  #list: Promise<FolderList> | undefined;

  constructor(medium: Pick<ObjectMedium, 'keys'>) {
    this.#medium = medium;
  }

  /** @throws IO; then the next call looks again */
  list(): Promise<FolderList> {
    if (this.#list !== undefined) return this.#list;
    const list = this.#medium.keys().then((keys) => ({
      facets: keys.filter((key) => key.split('.').length > 2),
      branches: keys.filter((key) => originKeys(key).length > 0),
    }));
    list.catch(() => (this.#list = undefined));
    this.#list = list;
    return list;
  }
}

/** The keys of the object, and of the branches, that a folder is below; none: it is not of a branch. */
export function originKeys(key: string): string[] {
  const [object = '', ...ids] = key.split('~');
  return ids.map((_, i) => [object, ...ids.slice(0, i)].join('~'));
}

/** The key of the object of which a folder is, or is below, the copy of an identity; of another folder, its own key. */
export function objectKey(key: string): string {
  return key.split(COPY_MARK)[0]!;
}
