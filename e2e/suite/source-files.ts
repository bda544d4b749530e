// The repository's files, as the tidy tests read them: paths, text, syntax trees, imports.
//
// Paths are relative to the root of the repository. Vite's parser reads TypeScript, so comments and
// strings are never mistaken for code.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseSync } from 'vite';
import { doorBehind, ROOM_NAMES, roomsBelow } from '../package/rooms.ts';

/** The folder of the repository. */
export const ROOT = resolve(import.meta.dirname, '../..');

const ROOMS = roomsBelow(ROOT);

/** A node of an ESTree, with the members of its type. */
export interface SyntaxNode {
  readonly type: string;
  readonly [member: string]: unknown;
}

export function readSource(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The files below `folders` whose names match. */
export function listFiles(folders: readonly string[], name: RegExp): string[] {
  return folders
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('node_modules'));
}

/** The statements of a module. @throws Error when the text does not parse */
export function parseModule(file: string, text: string): readonly SyntaxNode[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  return program.body as unknown as SyntaxNode[];
}

/** Calls `visit` with every node, outer ones first. */
export function walk(node: unknown, visit: (node: SyntaxNode) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (Array.isArray(node)) {
    for (const item of node) walk(item, visit);
    return;
  }
  if (isNode(node)) visit(node);
  for (const member of Object.values(node)) walk(member, visit);
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof (value as SyntaxNode | null)?.type === 'string';
}

/** The file of this repository that a module imports by this path or name; undefined for other packages. */
export function moduleBehind(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return relative(ROOT, resolve(ROOT, dirname(file), specifier));
  return ROOM_NAMES.test(specifier) ? doorBehind(ROOMS, specifier) : undefined;
}

/** References of a file to files of this repository. */
export interface References {
  /** Modules it imports or exports from, types included. */
  readonly imports: readonly string[];
  /** Files it names by `new URL('./…', import.meta.url)`, to start them in another thread. */
  readonly addresses: readonly string[];
}

/** The relative paths of the modules that a module imports or exports from, as they are written. */
export function pathsOf(statements: readonly SyntaxNode[]): readonly string[] {
  const paths: string[] = [];
  walk(statements, ({ source }) => {
    if (isNode(source) && String(source.value).startsWith('.')) paths.push(String(source.value));
  });
  return paths;
}

export function referencesOf(file: string, statements: readonly SyntaxNode[]): References {
  const imports: string[] = [];
  const addresses: string[] = [];
  const add = (list: string[], source: unknown) => {
    const path = isNode(source) ? source.value : undefined;
    const found = typeof path === 'string' ? moduleBehind(file, path) : undefined;
    if (found !== undefined) list.push(found);
  };
  walk(statements, (node) => {
    // Every node with a source refers to a module: imports, exports from, import() and its type.
    if ('source' in node) add(imports, node.source);
    const { callee } = node;
    if (node.type === 'NewExpression' && isNode(callee) && callee.name === 'URL') {
      add(addresses, (node.arguments as unknown[])[0]);
    }
  });
  return { imports, addresses };
}
