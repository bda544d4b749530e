// Lists the calls by which a lower layer of the worker reaches the one above it: the functions of the interfaces that
// its owner implements and passes to it. They must equal the list in `docs/architecture.md`.
//
// Such an interface has a name that ends with Events, Environment or Owner. The list also contains members of classes
// to which any code may assign a function later; there should be none, because nobody could list who is called.

import { parseModule, readSource, type SyntaxNode, walk } from './source-files.ts';

export interface UpwardInterface {
  readonly name: string;
  /** The file that declares it, without its ending. */
  readonly module: string;
  /** The names of its functions, in order. */
  readonly calls: readonly string[];
}

const UPWARD = /(Events|Environment|Owner)$/;

/** The upward interfaces that a file declares. */
export function upwardInterfaces(file: string, text = readSource(file)): UpwardInterface[] {
  const found: UpwardInterface[] = [];
  walk(parseModule(file, text), (node) => {
    if (node.type !== 'TSInterfaceDeclaration') return;
    const name = nameOf(node.id);
    if (!UPWARD.test(name)) return;
    const members = (node.body as SyntaxNode).body as readonly SyntaxNode[];
    const calls = members.filter(isFunction).map(({ key }) => nameOf(key));
    if (calls.length > 0) found.push({ name, module: file.replace(/\.ts$/, ''), calls });
  });
  return found;
}

/** The members of a file's classes that are functions and can be assigned from outside. */
export function slotsOf(file: string, text = readSource(file)): string[] {
  const found: string[] = [];
  walk(parseModule(file, text), (node) => {
    const key = node.key as SyntaxNode | undefined;
    if (key === undefined || key.type === 'PrivateIdentifier' || node.static === true) return;
    const isSetter = node.type === 'MethodDefinition' && node.kind === 'set' && takesFunction(node);
    const isSlot = node.type === 'PropertyDefinition' && node.readonly !== true && isFunction(node);
    if (isSetter || isSlot) found.push(`${file}: ${nameOf(key)}`);
  });
  return found;
}

/** The upward interfaces that a document lists: a row has the name, the module below `worker`, and the calls, each in backquotes. */
export function listedInterfaces(markdown: string): UpwardInterface[] {
  const rows = markdown.matchAll(/^`(\w+)` \| `([\w/-]+)` \| (`.*`)/gm);
  return [...rows].map(([, name, module, calls]) => ({
    name: name!,
    module: `worker/${module}`,
    calls: [...calls!.matchAll(/`(\w+)`/g)].map(([, call]) => call!),
  }));
}

/** A method, or a member whose type is a function or a union with one. */
function isFunction(member: SyntaxNode): boolean {
  if (member.type === 'TSMethodSignature') return true;
  const { typeAnnotation } = (member.typeAnnotation ?? {}) as { typeAnnotation?: SyntaxNode };
  if (typeAnnotation !== undefined) return isFunctionType(typeAnnotation);
  return (member.value as SyntaxNode | null | undefined)?.type === 'ArrowFunctionExpression';
}

function isFunctionType(type: SyntaxNode): boolean {
  if (type.type === 'TSParenthesizedType') return isFunctionType(type.typeAnnotation as SyntaxNode);
  if (type.type === 'TSUnionType')
    return (type.types as readonly SyntaxNode[]).some(isFunctionType);
  return type.type === 'TSFunctionType';
}

function takesFunction({ value }: SyntaxNode): boolean {
  const [parameter] = (value as SyntaxNode).params as readonly SyntaxNode[];
  return parameter !== undefined && isFunction(parameter);
}

function nameOf(node: unknown): string {
  return String((node as SyntaxNode).name);
}
