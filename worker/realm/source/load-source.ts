// Loads modules given as texts into this thread, and finds the classes that the main one exports.
//
// Invariant: each module is loaded by itself after its imports, so an error names the file that caused it. Lines and
// columns of the text stay as they are: an inserted address only makes its own line longer, and engines name the
// file by its path.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { CheckedSource } from '../../../src/shared/contract/source.ts';
import type { UserClass } from '../../objects/instance/object-class.ts';
import * as library from '../library/library.ts';
import { type LinkedModule, linkModules } from './link-modules.ts';

export interface LoadedSource {
  /** The exported classes that extend `DurableObject`, by name. */
  readonly classes: Readonly<Record<string, UserClass>>;
  /** All that the main module exports. */
  readonly exports: Readonly<Record<string, unknown>>;
}

/** How a thread loads a text as a module. */
export interface ModuleLoader {
  /** An address of the text. */
  addressOf(text: string): string;
  load(address: string): Promise<Record<string, unknown>>;
}

/** By which the text that replaces `cloudflare:workers` finds the base classes of this bundle. */
const LIBRARY = Symbol.for('ctx-storage.library-of-source');

/** @throws SOURCE_INVALID */
export async function loadModules(
  { files, main }: CheckedSource,
  loader: ModuleLoader,
): Promise<LoadedSource> {
  const modules = await linkModules(files, main);
  Reflect.set(globalThis, LIBRARY, library);
  const libraryAddress = loader.addressOf(libraryText());
  const addresses = new Map<string, string>();
  let exports: Record<string, unknown> = {};
  for (const module of modules) {
    const address = loader.addressOf(textOf(module, addresses, libraryAddress));
    addresses.set(module.path, address);
    exports = await loader.load(address).catch((cause) => {
      throw loadError(module.path, Object.keys(files), cause);
    });
  }
  const classes = classesIn(exports);
  if (Object.keys(classes).length === 0) throw withoutClass(main, Object.keys(exports));
  return { classes, exports: { ...exports } };
}

function libraryText(): string {
  const names = Object.keys(library).join(', ');
  return `export const { ${names} } = globalThis[Symbol.for(${JSON.stringify(LIBRARY.description)})];`;
}

function textOf(
  { path, text, imports }: LinkedModule,
  addresses: ReadonlyMap<string, string>,
  libraryAddress: string,
): string {
  let result = '';
  let end = 0;
  for (const place of imports) {
    const { target, isQuoted } = place;
    const address = target.kind === 'library' ? libraryAddress : addresses.get(target.path)!;
    result += text.slice(end, place.start) + (isQuoted ? JSON.stringify(address) : address);
    end = place.end;
  }
  return `${result}${text.slice(end)}\n//# sourceURL=${encodeURI(path)}`;
}

function classesIn(exports: Readonly<Record<string, unknown>>): Record<string, UserClass> {
  const found = Object.entries(exports).filter(
    ([name, value]) =>
      name !== 'default' &&
      typeof value === 'function' &&
      value.prototype instanceof library.DurableObject,
  );
  return Object.fromEntries(found) as Record<string, UserClass>;
}

function loadError(path: string, paths: readonly string[], cause: unknown): Error {
  const fact = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const place = cause instanceof Error ? placeIn(cause.stack ?? '', paths) : undefined;
  return storageError('SOURCE_INVALID', `${place ?? path} failed while it was loaded: ${fact}`, {
    cause,
  });
}

/** The first place of a stack that is in one of the files, as `path:line:column`. */
function placeIn(stack: string, paths: readonly string[]): string | undefined {
  for (const [, path, line, column] of stack.matchAll(/(?<![^\s()@])([^\s()@]+):(\d+):(\d+)/g)) {
    if (paths.includes(decodeURI(path!))) return `${decodeURI(path!)}:${line}:${column}`;
  }
  return undefined;
}

function withoutClass(main: string, names: readonly string[]): Error {
  return storageError(
    'SOURCE_INVALID',
    `${main} exports no class of objects; it exports: ${names.join(', ') || 'nothing'}. ` +
      "Write export class Counter extends DurableObject, which comes from 'cloudflare:workers'.",
  );
}

/** Loads texts as modules in a browser's thread. */
export const browserLoader: ModuleLoader = {
  addressOf: (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' })),
  load: (address) => import(/* @vite-ignore */ /* webpackIgnore: true */ address),
};
