// Sets up a surface by its name; only the modules that it needs are loaded.

import type { Surface, SurfaceName } from './surface.ts';

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
    case 'followers':
      return (await import('./followers.ts')).openFollowers();
  }
}
