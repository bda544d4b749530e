// Mutable state that a module holds for as long as it is loaded, found in its syntax tree.
//
// It counts:
//   a `let` or `var` at module level, and a static class field that is not readonly
//   a module-level constant or static field that holds something made to be written to: an empty
//   Map or Set, a WeakMap, a buffer, an instance of a class, or the result of a function named
// `create…` or
//   `open…` returns; and an empty array or object that the file exports
//   any other module-level constant that the same file writes to
// A constant that another file writes to is not found; such constants have a read-only type.

import { isNode, type SyntaxNode, walk } from './source-files.ts';

/** Built-in classes whose instances hold no state that changes their behaviour. */
const STATELESS = new Set([
  'DateTimeFormat',
  'NumberFormat',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'RegExp',
]);

/** Collections: state when they begin empty, and constants when they begin full. */
const COLLECTIONS = new Set(['Map', 'Set', 'WeakMap', 'WeakSet']);

const WRITERS = new Set(
  'add clear copyWithin delete fill pop push reverse set shift sort splice unshift'.split(' '),
);

/** Names of the module's mutable state; a static field is `Class.field`. */
export function moduleState(statements: readonly SyntaxNode[]): string[] {
  const written = writtenNames(statements);
  const state: string[] = [];
  for (const statement of statements) {
    const isExported = isNode(statement.declaration);
    const declaration = isExported ? (statement.declaration as SyntaxNode) : statement;
    if (declaration.type === 'VariableDeclaration') {
      for (const { id, init } of declaration.declarations as SyntaxNode[]) {
        const name = String((id as SyntaxNode).name ?? 'a pattern');
        const isState =
          declaration.kind !== 'const' ||
          isWritable(init) ||
          (isExported && isEmpty(init)) ||
          written.has(name);
        if (isState && declaration.declare !== true) state.push(name);
      }
    } else if (declaration.type === 'ClassDeclaration') {
      state.push(...staticState(declaration));
    }
  }
  return state;
}

function staticState({ id, body }: SyntaxNode): string[] {
  const fields = ((body as SyntaxNode).body as SyntaxNode[]).filter(
    ({ type, static: isStatic }) => type === 'PropertyDefinition' && isStatic === true,
  );
  return fields
    .filter(({ readonly, value }) => readonly !== true || isWritable(value) || isEmpty(value))
    .map(({ key }) => {
      const { type, name } = key as SyntaxNode;
      return `${(id as SyntaxNode).name}.${type === 'PrivateIdentifier' ? '#' : ''}${name}`;
    });
}

function isWritable(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (isTypeExpression(value)) return isWritable(value.expression);
  switch (value.type) {
    case 'NewExpression':
      return isWritableInstance(value);
    case 'CallExpression':
      return isWritableResult(value.callee as SyntaxNode);
    default:
      return false;
  }
}

/** `value as Type`, `value satisfies Type`, `value!`. */
function isTypeExpression({ type }: SyntaxNode): boolean {
  return /^TS(As|Satisfies|NonNull)Expression$/.test(type);
}

/** An empty array or object: a constant, unless something is put into it. */
function isEmpty(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (isTypeExpression(value)) return isEmpty(value.expression);
  const items = value.type === 'ArrayExpression' ? value.elements : value.properties;
  return Array.isArray(items) && items.length === 0;
}

function isWritableInstance({ callee, arguments: given }: SyntaxNode): boolean {
  const name = nameOf(callee as SyntaxNode);
  const [first] = given as SyntaxNode[];
  if (COLLECTIONS.has(name)) return first === undefined;
  // A buffer of no bytes, or the bytes of a list.
  if (name.endsWith('Array')) return first?.type !== 'ArrayExpression' && first?.value !== 0;
  return !STATELESS.has(name);
}

function isWritableResult(callee: SyntaxNode): boolean {
  // `new Array(n).fill(…)` is a buffer too.
  if (callee.type === 'MemberExpression' && nameOf(callee) === 'fill') {
    return isWritable(callee.object);
  }
  return /^(create|open)[A-Z]/.test(nameOf(callee));
}

/** `f` of `f`, `o.f` and `a.o.f`. */
function nameOf(node: SyntaxNode): string {
  return String((node.type === 'MemberExpression' ? (node.property as SyntaxNode) : node).name);
}

/** Names of values whose members the module assigns, or whose writing methods it calls. */
function writtenNames(statements: readonly SyntaxNode[]): Set<string> {
  const names = new Set<string>();
  const addOwner = (target: unknown) => {
    if (!isNode(target) || target.type !== 'MemberExpression') return;
    const { object } = target as { object?: SyntaxNode };
    if (object?.type === 'Identifier') names.add(String(object.name));
  };
  walk(statements, (node) => {
    if (node.type === 'AssignmentExpression') addOwner(node.left);
    if (node.type === 'UpdateExpression') addOwner(node.argument);
    if (node.type === 'UnaryExpression' && node.operator === 'delete') addOwner(node.argument);
    if (node.type === 'CallExpression') {
      const callee = node.callee as SyntaxNode;
      if (callee.type === 'MemberExpression' && WRITERS.has(nameOf(callee))) addOwner(callee);
    }
  });
  return names;
}
