// The code on screen: an example, the visitor's own, or what came by a link.
//
// Invariant: code that came by a link is not stored and does not run in this origin until the visitor keeps it.

import { signal } from '@preact/signals';
import { EXAMPLES } from './examples.ts';
import { fromHash, hasSharedCode } from './share-link.ts';

export type Files = Readonly<Record<string, string>>;

export interface Project {
  /** Names the space of its objects. */
  readonly id: string;
  readonly name: string;
  readonly kind: 'own' | 'shared';
  readonly files: Files;
}

const STORED = 'ctx-storage-playground';
const MAIN = 'main.ts';

const FIRST: Project = projectOf(EXAMPLES[0]!);

export const project = signal<Project>(FIRST);
/** The file in the editor. */
export const path = signal(MAIN);
/** Counts up when the editor has to show a file again, and not because the visitor typed. */
export const shown = signal(0);
/** Why the link could not be opened. */
export const linkProblem = signal<string | null>(null);

/** Opens the link's code, or what was open last, or the first example. */
export async function openFirst(): Promise<void> {
  if (hasSharedCode(location.hash)) {
    try {
      const { name, files } = await fromHash(location.hash);
      show({ id: 'shared', name, kind: 'shared', files });
      return;
    } catch (error) {
      linkProblem.value = (error as Error).message;
    }
  }
  show(stored() ?? FIRST);
}

export function openExample(id: string): void {
  const example = EXAMPLES.find((one) => one.id === id);
  if (example === undefined) return;
  leaveLink();
  const next = projectOf(example);
  store(next);
  show(next);
}

/** Copies a stranger's code into the visitor's own space, under an id of its own. */
export function keep(): void {
  leaveLink();
  const { name, files } = project.value;
  const next: Project = { id: `kept-${crypto.randomUUID().slice(0, 8)}`, name, kind: 'own', files };
  store(next);
  show(next);
}

/** The text of the file in the editor, as the visitor types. */
export function edit(text: string): void {
  change({ ...project.value.files, [path.value]: text });
}

/** Returns what is wrong with the name; null: the file is there. */
export function addFile(name: string): string | null {
  if (!/^[\w-]+(?:\/[\w-]+)*\.[jt]s$/.test(name)) {
    return 'A file has a name such as words.ts or lib/words.ts.';
  }
  if (Object.hasOwn(project.value.files, name)) return 'There is a file of this name.';
  change({ ...project.value.files, [name]: `// ${name}\nexport {};\n` });
  openFile(name);
  return null;
}

export function removeFile(name: string): void {
  const { [name]: _, ...rest } = project.value.files;
  change(rest);
  openFile(Object.keys(rest)[0]!);
}

export function openFile(name: string): void {
  path.value = name;
  shown.value += 1;
}

function show(next: Project): void {
  project.value = next;
  openFile(Object.hasOwn(next.files, MAIN) ? MAIN : Object.keys(next.files)[0]!);
}

function change(files: Files): void {
  project.value = { ...project.value, files };
  if (project.value.kind === 'own') store(project.value);
}

function projectOf({ id, label, files }: (typeof EXAMPLES)[number]): Project {
  return { id, name: label, kind: 'own', files };
}

function leaveLink(): void {
  linkProblem.value = null;
  if (location.hash !== '') history.replaceState(null, '', location.pathname);
}

function store(kept: Project): void {
  try {
    localStorage.setItem(STORED, JSON.stringify(kept));
  } catch {
    // Full, or forbidden: the code stays on screen, and a link still carries it.
  }
}

function stored(): Project | null {
  try {
    const text = localStorage.getItem(STORED);
    return text === null ? null : (JSON.parse(text) as Project);
  } catch {
    return null;
  }
}
