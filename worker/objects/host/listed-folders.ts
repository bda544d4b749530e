// The folders of facets and branches that a host finds, by their keys.
//
// Reading all folders takes long when there are many, so a host reads them once. Invariant: all folders of earlier
// hosts are listed; folders made by this host may be missing. No assertion keeps this: it would have to read all
// folders again.

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

  /** Lists the folders. @throws IO; then the next call reads the folders again */
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

/**
 * Returns the keys of the object and of the branches to which a folder belongs; an empty list if the folder is not of a
 * branch.
 */
export function originKeys(key: string): string[] {
  const [object = '', ...ids] = key.split('~');
  return ids.map((_, i) => [object, ...ids.slice(0, i)].join('~'));
}

/**
 * Returns the key of the object whose copy for an identity a folder contains, or lies below; for any other folder, its
 * own key.
 */
export function objectKey(key: string): string {
  return key.split(COPY_MARK)[0]!;
}
