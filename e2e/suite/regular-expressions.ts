// The regular expressions of a module, found in its syntax tree.

import { type SyntaxNode, walk } from './source-files.ts';

export interface Expression {
  readonly source: string;
  readonly flags: string;
}

/** Literals of the module, and expressions that it makes of a text: those are known as code only. */
export function regularExpressions(
  statements: readonly SyntaxNode[],
  text: string,
): { literals: Expression[]; made: string[] } {
  const literals: Expression[] = [];
  const made: string[] = [];
  walk(statements, (node) => {
    const regex = node.regex as { pattern: string; flags: string } | undefined;
    if (node.type === 'Literal' && regex !== undefined) {
      literals.push({ source: regex.pattern, flags: regex.flags });
    }
    const callee = node.callee as SyntaxNode | undefined;
    const isMade = node.type === 'NewExpression' || node.type === 'CallExpression';
    if (isMade && callee?.type === 'Identifier' && callee.name === 'RegExp') {
      made.push(text.slice(node.start as number, node.end as number));
    }
  });
  return { literals, made };
}
