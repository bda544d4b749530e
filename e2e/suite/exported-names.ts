// The names that a module declares and exports; names it only passes on are not its own.

import { isNode, type SyntaxNode } from './source-files.ts';

export function exportedNames(statements: readonly SyntaxNode[]): Set<string> {
  const names = new Set<string>();
  for (const statement of statements) {
    if (statement.type !== 'ExportNamedDeclaration' || statement.source !== null) continue;
    const declared = isNode(statement.declaration)
      ? ((statement.declaration.declarations as SyntaxNode[] | undefined) ?? [
          statement.declaration,
        ])
      : [];
    for (const { id } of declared) names.add(String((id as SyntaxNode).name));
  }
  return names;
}
