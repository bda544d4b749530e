// The regular expressions of a module and of the product, found in syntax trees.

import { isTool } from './layers.ts';
import { listFiles, parseModule, readSource, type SyntaxNode, walk } from './source-files.ts';

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

/** Returns the expressions of each module of the product, without tests and tools. */
export function productExpressions(): ({ file: string } & ReturnType<typeof regularExpressions>)[] {
  return listFiles(['src', 'worker', 'packages'], /(?<!\.test|\.d)\.tsx?$/)
    .filter((file) => !isTool(file))
    .map((file) => {
      const text = readSource(file);
      return { file, ...regularExpressions(parseModule(file, text), text) };
    });
}
