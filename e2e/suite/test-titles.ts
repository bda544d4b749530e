// The titles of a file's tests, each with those of the groups around it.

import { isNode, type SyntaxNode } from './source-files.ts';

/** Functions that declare: `test`, `test.for(cases)`, `describe`, `test.describe`. */
const TEST = /^(test|it)(\.(for|each|only|skip|fails|concurrent))*$/;
const GROUP = /^(test\.)?describe(\.(for|each|only|skip|serial|configure))*$/;

/** Full titles, outer ones first; a part that is not a literal shows as `…`. */
export function testTitles(node: unknown, around: readonly string[] = []): string[] {
  if (typeof node !== 'object' || node === null) return [];
  if (Array.isArray(node)) return node.flatMap((item) => testTitles(item, around));
  const titles =
    isNode(node) && node.type === 'CallExpression' ? declared(node, around) : undefined;
  return titles ?? Object.values(node).flatMap((member) => testTitles(member, around));
}

function declared(call: SyntaxNode, around: readonly string[]): string[] | undefined {
  const given = call.arguments as SyntaxNode[];
  const [title] = given;
  const isDeclaration = given.length > 1 && title !== undefined;
  if (!isDeclaration) return undefined;
  const path = calleePath(call.callee as SyntaxNode);
  const inner = [...around, textOf(title)];
  if (GROUP.test(path)) return given.slice(1).flatMap((body) => testTitles(body, inner));
  return TEST.test(path) ? [inner.join(' ')] : undefined;
}

/** `test.for` of `test.for(cases)(…)`. */
function calleePath(callee: SyntaxNode): string {
  if (callee.type === 'CallExpression') return calleePath(callee.callee as SyntaxNode);
  if (callee.type === 'TaggedTemplateExpression') return calleePath(callee.tag as SyntaxNode);
  if (callee.type !== 'MemberExpression') return String(callee.name);
  const { object, property } = callee as { object?: SyntaxNode; property?: SyntaxNode };
  return `${calleePath(object!)}.${property!.name}`;
}

function textOf(title: SyntaxNode): string {
  if (title.type === 'Literal') return String(title.value);
  if (title.type !== 'TemplateLiteral') return '…';
  const parts = title.quasis as { value: { raw: string } }[];
  return parts.map(({ value }) => value.raw).join('…');
}
