// What every hostile surface offers to the runner: cases by seed, each judged by itself.

export const SURFACES = ['values', 'databases', 'wal', 'statements', 'messages'] as const;

export type SurfaceName = (typeof SURFACES)[number];

/** A border that input from outside crosses, set up once for many cases. */
export interface Surface {
  /** Tries what this seed makes; resolves to what went wrong, in words, or undefined. */
  attack(seed: number): Promise<string | undefined>;
  close(): Promise<void>;
}

export async function openSurface(name: SurfaceName): Promise<Surface> {
  switch (name) {
    case 'values':
      return (await import('./values.ts')).openValues();
    case 'databases':
      return (await import('./databases.ts')).openDatabases('databases');
    case 'wal':
      return (await import('./databases.ts')).openDatabases('wal');
    case 'statements':
      return (await import('./statements.ts')).openStatements();
    case 'messages':
      return (await import('./messages.ts')).openMessages();
  }
}
