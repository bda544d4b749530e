// Import circles: sets of files that each import one another, directly or through others.
//
// Tarjan's algorithm for strongly connected components.

/** Every circle of `imports`, its files sorted. A file may not import itself. */
export function importCircles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const indexes = new Map<string, number>();
  const stack: string[] = [];

  /** Returns the lowest index that the file reaches on the stack. */
  const visit = (file: string): number => {
    const index = indexes.size;
    indexes.set(file, index);
    stack.push(file);
    let lowest = index;
    for (const target of imports.get(file) ?? []) {
      if (!indexes.has(target)) lowest = Math.min(lowest, visit(target));
      else if (stack.includes(target)) lowest = Math.min(lowest, indexes.get(target)!);
    }
    if (lowest === index) {
      const component = stack.splice(stack.indexOf(file));
      const isCircle = component.length > 1 || imports.get(file)?.includes(file);
      if (isCircle) found.push(component.sort());
    }
    return lowest;
  };

  for (const file of imports.keys()) if (!indexes.has(file)) visit(file);
  return found.sort();
}
