// The reference of the published packages' entries, from their docstrings: the exports of each, as declared.
//
// The declarations are read by Vite's parser: tools that read types by the compiler's own interface do not know
// the version of TypeScript that this repository uses.

import { join } from 'node:path';
import {
  isNode,
  moduleBehind,
  parseModule,
  readSource,
  type SyntaxNode,
} from '../../suite/source-files.ts';
import {
  manifestOf,
  moduleOfTypes,
  PUBLISHED,
  type PublishedPackage,
  STORAGE,
} from '../entry-modules.ts';

/** An entry of a package, and the module it begins in. */
export interface ApiEntry {
  readonly name: string;
  readonly page: string;
  readonly module: string;
}

/** An export of an entry. */
export interface ApiItem {
  readonly name: string;
  /** The text of its docstring, empty if it has none. */
  readonly prose: string;
  /** How it is declared, without bodies. */
  readonly declaration: string;
}

/** The entries that have names of their own, by the `exports` of the manifests. */
export function apiEntries(): ApiEntry[] {
  return PUBLISHED.flatMap((published) => {
    const { name, exports } = manifestOf(published);
    return Object.entries(exports).flatMap(([path, entry]) => {
      const types = typeof entry === 'string' ? undefined : entry.types;
      const module = moduleOfTypes(published, types);
      if (module === undefined) return [];
      return [{ name: join(name, path), page: pageOf(published, name, path), module }];
    });
  });
}

/** Entries of `ctx-storage` have the shorter addresses. */
function pageOf(published: PublishedPackage, name: string, path: string): string {
  if (published !== STORAGE) return join(name, path).replaceAll('/', '-');
  return path === '.' ? 'index' : path.slice(2).replaceAll('/', '-');
}

/** The exports of a module, by name. */
export function apiItems(module: string): ApiItem[] {
  const items = new Map<string, ApiItem>();
  collect(module, null, items, new Set());
  return [...items.values()].sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}

/** The page of an entry. */
export function apiPage({ name, module }: ApiEntry): string {
  const parts = apiItems(module).map(
    ({ name, prose, declaration }) =>
      `## ${name}\n\n${prose === '' ? '' : `${prose}\n\n`}\`\`\`ts\n${declaration}\n\`\`\`\n`,
  );
  return `# ${name}\n\n${parts.join('\n')}`;
}

/** Adds the module's exports: all, or the exports with these names, under their new names. */
function collect(
  module: string,
  wanted: ReadonlyMap<string, string> | null,
  items: Map<string, ApiItem>,
  seen: Set<string>,
): void {
  const text = readSource(module);
  for (const statement of parseModule(module, text)) {
    const source = (statement.source as { value?: string } | null | undefined)?.value;
    const next = source === undefined ? undefined : moduleBehind(module, source);
    if (statement.type === 'ExportAllDeclaration' && next !== undefined && !seen.has(next)) {
      collect(next, wanted, items, seen.add(next));
    }
    if (statement.type !== 'ExportNamedDeclaration') continue;
    if (isNode(statement.declaration)) {
      for (const item of itemsOf(statement, statement.declaration, text)) {
        const name = wanted === null ? item.name : wanted.get(item.name);
        if (name !== undefined) items.set(name, { ...item, name });
      }
    } else {
      const names = new Map<string, string>();
      for (const specifier of statement.specifiers as SyntaxNode[]) {
        const exported = nameOf(specifier.exported);
        if (wanted === null || wanted.has(exported)) {
          names.set(nameOf(specifier.local), wanted?.get(exported) ?? exported);
        }
      }
      if (names.size === 0) continue;
      if (next !== undefined) collect(next, names, items, new Set());
    }
  }
}

function itemsOf(statement: SyntaxNode, declaration: SyntaxNode, text: string): ApiItem[] {
  const before = text.slice(0, statement.start as number);
  const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(before)?.[1] ?? '';
  const prose = proseOf(comment);
  const of = (name: string, code: string): ApiItem => ({ name, prose, declaration: code });
  const declared = (declaration.declarations as SyntaxNode[] | undefined) ?? [declaration];
  return declared.map((node) => of(nameOf(node.id), codeOf(declaration, node, text)));
}

/** The text of a docstring: its tags are words at the beginning of a line. */
function proseOf(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines
    .join('\n')
    .trim()
    .replace(/(^|\s)@throws /g, '\n\n**Throws** ')
    .replace(/(^|\s)@default /g, '\n\n**Default:** ')
    .trim();
}

function codeOf(declaration: SyntaxNode, node: SyntaxNode, text: string): string {
  const slice = (from: number, to: number) => text.slice(from, to).trimEnd();
  const start = declaration.start as number;
  if (declaration.type === 'VariableDeclaration') {
    const init = node.init as SyntaxNode | null;
    const type = (node.id as SyntaxNode).typeAnnotation;
    const end = isNode(type) || init === null ? (node.id as SyntaxNode).end : init.end;
    const whole = slice(node.start as number, end as number);
    return `const ${whole.split('\n').length > 12 ? nameOf(node.id) : whole};`;
  }
  if (declaration.type === 'ClassDeclaration') return classCode(declaration, text);
  if (!isNode(declaration.body) || declaration.type !== 'FunctionDeclaration') {
    return slice(start, declaration.end as number);
  }
  return `${slice(start, declaration.body.start as number)};`;
}

function classCode(declaration: SyntaxNode, text: string): string {
  const body = declaration.body as SyntaxNode;
  const members = body.body as SyntaxNode[];
  const lines = [text.slice(declaration.start as number, (body.start as number) + 1)];
  let from = (body.start as number) + 1;
  for (const member of members) {
    const end = member.end as number;
    const comment = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/(?=\s*$)/.exec(
      text.slice(from, member.start as number),
    );
    from = end;
    const key = member.key as SyntaxNode | undefined;
    if (key?.type === 'PrivateIdentifier' || member.accessibility === 'private') continue;
    const block = ((member.value as SyntaxNode | null)?.body ?? member.body) as SyntaxNode | null;
    const value = member.type === 'PropertyDefinition' ? (member.value as SyntaxNode | null) : null;
    const stop = isNode(block) ? (block.start as number) : value === null ? end : value.start;
    const code = text.slice(member.start as number, stop as number).replace(/\s*=?\s*$/, '');
    lines.push(`${comment === null ? '' : `  ${comment[0]}\n`}  ${code.replace(/;$/, '')};`);
  }
  return `${lines.join('\n')}\n}`;
}

function nameOf(node: unknown): string {
  const { name, value } = node as { name?: string; value?: string };
  return name ?? value ?? '';
}
