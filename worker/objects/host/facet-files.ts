// The files of facets while no code of them runs: removed and copied, with those of the facets below.
//
// Invariant: no instance has files open that are touched here. The facet itself comes last, so that a
// facet with files has those of its own facets too.

import { assert } from '../../../src/shared/contract/invariant.ts';
import { isBelow } from '../../../src/shared/contract/object-id.ts';
import { ImageFile } from '../../engine/import/image-file.ts';
import { ObjectFiles } from '../../engine/log/object-files.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import type { Instances } from './instances.ts';
import type { ListedFolders } from './listed-folders.ts';

/** The bytes of a database; null if nothing was ever written to it. */
type Image = Uint8Array | null;

export class FacetFiles {
  readonly #instances: Instances;
  readonly #folders: ListedFolders;
  readonly #environment: HostEnvironment;
  /** The keys of facets that may have files: facets started by this host, and facets whose folders were found. */
  readonly #known = new Set<string>();
  #hasFound = false;

  constructor(instances: Instances, folders: ListedFolders, environment: HostEnvironment) {
    this.#instances = instances;
    this.#folders = folders;
    this.#environment = environment;
  }

  /** Called when the facet is being started: it may have files from now on. */
  started(key: string): void {
    this.#known.add(key);
  }

  /** Removes the facets below this object or facet. @throws IO */
  async removeBelow(key: string, reason: unknown): Promise<void> {
    const live = this.#instances.keysBelow(key);
    await Promise.all(live.map((facet) => this.#instances.end(facet, reason, async () => {})));
    for (const facet of await this.#storedBelow(key)) await this.#remove(facet);
  }

  /** Ends the facet and removes its files. @throws IO */
  remove(key: string, reason: unknown): Promise<void> {
    return this.#instances.end(key, reason, async () => {
      await this.removeBelow(key, reason);
      await this.#remove(key);
    });
  }

  /**
   * Ends the facet at `to`, which becomes a copy of the present facet at `from` and of the facets below it. The
   * existing files of `to` take the copy as one commit each, and no file is flushed before all copies are made.
   *
   * @throws IO, DISK_FULL, CORRUPT: `to` is as it was, unless a flush has failed
   */
  copy(from: string, to: string, reason: unknown): Promise<void> {
    if (from === to) return this.#instances.end(to, reason, async () => {});
    const live = [from, ...this.#instances.keysBelow(from)];
    const images = new Map(live.map((key) => [key, this.#read(key)]));
    for (const image of images.values()) image.catch(() => {}); // The error is reported below.
    return this.#instances.end(to, reason, async () => {
      const ends = this.#instances.keysBelow(to);
      await Promise.all(ends.map((facet) => this.#instances.end(facet, reason, async () => {})));
      const copies = new Map<string, Uint8Array>();
      for (const key of new Set([...(await this.#storedBelow(from)), ...live])) {
        const image = await (images.get(key) ?? this.#read(key));
        if (image !== null) copies.set(`${to}${key.slice(from.length)}`, image);
      }
      await this.#replace(copies);
      const left = [...(await this.#storedBelow(to)), to].filter((key) => !copies.has(key));
      for (const key of left) await this.#remove(key);
    });
  }

  async #storedBelow(key: string): Promise<string[]> {
    const { facets } = await this.#folders.list();
    if (!this.#hasFound) for (const facet of facets) this.#known.add(facet);
    this.#hasFound = true;
    return [...this.#known].filter((other) => isBelow(other, key));
  }

  async #remove(key: string): Promise<void> {
    this.#mustBeClosed(key);
    await this.#environment.medium.remove(key);
    this.#known.delete(key);
  }

  #mustBeClosed(key: string): void {
    assert(this.#instances.live(key) === undefined, 'files of a live facet were changed');
  }

  #read(key: string): Promise<Image> {
    return this.#instances.inspect(
      key,
      ({ storage }) => (storage.isUnwritten ? null : storage.databaseBytes()),
      async () => {
        const { medium } = this.#environment;
        const files = await ObjectFiles.open(await medium.directory(key), this.#environment);
        let image: Image = null;
        try {
          if (files.committedSequence > 0) image = files.databaseBytes();
        } finally {
          await files.close();
        }
        if (image === null) await medium.remove(key); // Opening the facet has created files.
        return image;
      },
    );
  }

  /** Replaces the databases of these facets, all or none. */
  async #replace(images: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const opened = new Map<string, ObjectFiles>();
    let isMade = false;
    try {
      for (const [key, image] of images) {
        this.#mustBeClosed(key);
        const directory = await this.#environment.medium.directory(key);
        const files = await ObjectFiles.open(directory, this.#environment);
        opened.set(key, files);
        files.atomically(() => files.overwrite(new ImageFile(image)));
      }
      isMade = true;
      for (const [key, files] of opened) {
        this.started(key);
        await files.flush();
      }
    } finally {
      for (const [key, files] of opened) {
        if (!isMade) files.discardUnflushed();
        await files.close();
        if (!isMade && files.durableSequence === 0) await this.#environment.medium.remove(key);
      }
    }
  }
}
