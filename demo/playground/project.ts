// Keeps and stores the code on screen: an example, the visitor's own, or code from a link.
//
// Invariant: code that came by a link is not stored until the visitor keeps it, and does not run in this origin until
// the visitor trusts it. It never runs without a click, kept and trusted or not.

import { signal } from '@preact/signals';
import { EXAMPLES } from './examples.ts';
import { fromHash, hasSharedCode, nameProblem, type SharedCode } from './share-link.ts';
import { hashOfRun, isRun } from './simulated-run.ts';

export type Files = Readonly<Record<string, string>>;

export type ProjectKind =
  /** The code is an example with the visitor's changes. It is stored, and runs in this origin without a click, too. */
  | 'own'
  /** The code came by a link. It is not stored, cannot be changed, and runs in a sandbox. */
  | 'shared'
  /** The code came by a link and the visitor kept it. It is stored, and runs in a sandbox. */
  | 'kept'
  /** The visitor kept the code and trusts it. It runs in this origin after a click. */
  | 'trusted';

export interface Project {
  /** The id of the code, which names the directory of its objects. */
  readonly id: string;
  readonly name: string;
  readonly kind: ProjectKind;
  readonly files: Files;
  /** The objects of the link as its text, with which each run in the sandbox begins; null if the link has none. */
  readonly data: string | null;
}

/** Returns the name of the directory of the code's objects. */
export const directoryOf = ({ id }: Project): string => `playground-${id}`;

export const isSandboxed = ({ kind }: Project): boolean => kind === 'shared' || kind === 'kept';

/** Returns whether the code is that of an example without changes. */
export function isUnchanged({ id, kind, files }: Project): boolean {
  const example = EXAMPLES.find((one) => one.id === id);
  if (kind !== 'own' || example === undefined) return false;
  const paths = Object.keys({ ...example.files, ...files });
  return paths.every((path) => example.files[path] === files[path]);
}

const STORED = 'ctx-storage-playground';
const MAIN = 'main.ts';
/** The beginning of the ids of code that came by a link. */
const KEPT = 'kept-';

const FIRST: Project = projectOf(EXAMPLES[0]!);

export const project = signal<Project>(FIRST);
/** The path of the file in the editor. */
export const path = signal(MAIN);
/** A count that goes up when the editor has to show a file again for another reason than the visitor's typing. */
export const shown = signal(0);
/** The reason why the link could not be opened. */
export const linkProblem = signal<string | null>(null);

/** Opens the link's code, or the code that was open last, or the first example. */
export async function openFirst(): Promise<void> {
  if (hasSharedCode(location.hash)) {
    try {
      show(shared(await fromHash(location.hash)));
      return;
    } catch (error) {
      linkProblem.value = (error as Error).message;
    }
  }
  show(stored() ?? FIRST);
}

/**
 * Reads the code in a file, which has the content of a link or of a simulated run. @throws Error that names the problem
 */
export async function sharedIn(text: string): Promise<Project> {
  const hash = isRun(text) ? await hashOfRun(text) : text;
  if (!hasSharedCode(hash)) throw new Error('The file has no shared code in it.');
  return shared(await fromHash(hash));
}

/** Shows code that somebody shared. */
export function openShared(next: Project): void {
  leaveLink();
  show(next);
}

function shared({ name, files, data }: SharedCode): Project {
  return { id: 'shared', name, kind: 'shared', files, data };
}

export function openExample(id: string): void {
  const example = EXAMPLES.find((one) => one.id === id);
  if (example === undefined) return;
  leaveLink();
  const next = projectOf(example);
  store(next);
  show(next);
}

/** Stores a stranger's code, under an id of its own. */
export function keep(): void {
  leaveLink();
  const id = `${KEPT}${crypto.randomUUID().slice(0, 8)}`;
  const next: Project = { ...project.value, id, kind: 'kept' };
  store(next);
  show(next);
}

/** Lets kept code run in this origin. */
export function trust(): void {
  if (project.value.kind !== 'kept') return;
  project.value = { ...project.value, kind: 'trusted', data: null };
  store(project.value);
}

/** Takes over the text of the file in the editor as the visitor types. */
export function edit(text: string): void {
  change({ ...project.value.files, [path.value]: text });
}

/** Adds a file. Returns the problem with the name, or null. */
export function addFile(name: string): string | null {
  const problem = nameProblem(name);
  if (problem !== null) return problem;
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
  if (project.value.kind !== 'shared') store(project.value);
}

function projectOf({ id, label, files }: (typeof EXAMPLES)[number]): Project {
  return { id, name: label, kind: 'own', files, data: null };
}

function leaveLink(): void {
  linkProblem.value = null;
  if (location.hash !== '') history.replaceState(null, '', location.pathname);
}

function store(kept: Project): void {
  try {
    localStorage.setItem(STORED, JSON.stringify(kept));
  } catch {
    // The browser's storage is full or forbidden. The code stays on screen, and can still be shared as a link.
  }
}

function stored(): Project | null {
  try {
    const text = localStorage.getItem(STORED);
    if (text === null) return null;
    const found: Project = { data: null, ...JSON.parse(text) };
    // Earlier versions of the playground stored kept code as the visitor's own.
    const isForeign = found.id.startsWith(KEPT) && found.kind !== 'trusted';
    return isForeign ? { ...found, kind: 'kept' } : found;
  } catch {
    return null;
  }
}
