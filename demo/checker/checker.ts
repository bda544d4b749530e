// Finds mistakes, suggestions and explanations for code that is given as texts, by TypeScript's language service.
//
// Invariant: an answer concerns exactly the texts of its question. Types that are not written are inferred, so that
// JavaScript in a `.ts` file is no mistake. This module does not depend on the worker that it runs in. TypeScript 6 is
// the last version whose compiler is JavaScript.

import ts from 'typescript-6';
import {
  DECLARATIONS,
  GLOBALS_FILE,
  LIBRARY_FOLDER,
  NAMESPACES_FILE,
  WORKERS_FILE,
} from './declarations.ts';

/** Texts by path, such as `main.ts`; their lines end with a line feed alone. */
export type CodeFiles = Readonly<Record<string, string>>;

/** A mistake in a file. Lines count from 1, columns from 0; a mistake may go on beyond its line. */
export interface TypeMistake {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly length: number;
  readonly message: string;
}

/** A name that the editor suggests at a place in the code. */
export interface Suggestion {
  readonly label: string;
  readonly kind:
    | 'class'
    | 'constant'
    | 'function'
    | 'keyword'
    | 'method'
    | 'property'
    | 'type'
    | 'variable';
  /** Whether the name is a member or is declared in the code, and so is listed before globals. */
  readonly isNear: boolean;
}

/** The explanation of a name. */
export interface Explanation {
  /** The declaration of the name, in one or more lines. */
  readonly signature: string;
  /** The documentation of the name; empty if it has none. */
  readonly text: string;
}

/** The explanation of the name at a place, with the offsets where the name begins and ends. */
export interface Described extends Explanation {
  readonly from: number;
  readonly to: number;
}

const PROJECT = '/project/';
/** The file that declares `env`, whose members are the classes of the code. */
const ENV_FILE = `${PROJECT}.env.d.ts`;
const MAIN_NAMES = ['main', 'index', 'worker'];

const OPTIONS: ts.CompilerOptions = {
  lib: ['lib.esnext.d.ts', 'lib.webworker.d.ts'],
  types: [],
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  allowImportingTsExtensions: true,
  allowJs: true,
  checkJs: true,
  noEmit: true,
  strict: true,
  useUnknownInCatchVariables: false,
  paths: { 'cloudflare:workers': [WORKERS_FILE], 'ctx-storage/worker': [WORKERS_FILE] },
};

const { Error: ERROR } = ts.DiagnosticCategory;

/** Matches the codes of errors about types that are not written, which are ignored. The option `noImplicitAny` that
 * causes them stays on, because without it no element fits into `[]`. */
const IMPLICIT_ANY = /^7\d{3}$/;

/** How many mistakes are reported at most, and how many letters of each. */
const MISTAKES_MAX = 50;
const LETTERS_MAX = 1000;
/** The sort text that TypeScript gives to globals and keywords among suggestions. */
const GLOBAL_ORDER = '15';

export class Checker {
  /** The texts of the code by absolute path. Each new text gets a version that no other text has. */
  readonly #code = new Map<string, { readonly text: string; readonly version: number }>();
  #versions = 0;
  readonly #service = ts.createLanguageService(this.#host());

  /** Returns the first mistakes in the order of the files. */
  check(files: CodeFiles): TypeMistake[] {
    this.#take(files);
    const mistakes = Object.keys(files).flatMap((path) => {
      const name = PROJECT + path;
      const found = [
        ...this.#service.getSyntacticDiagnostics(name),
        ...this.#service.getSemanticDiagnostics(name),
      ];
      return found
        .filter(({ category, code }) => category === ERROR && !IMPLICIT_ANY.test(String(code)))
        .map((one) => mistakeOf(path, one));
    });
    return mistakes.slice(0, MISTAKES_MAX);
  }

  /** Returns the names that can stand at an offset of a file. */
  suggest(files: CodeFiles, path: string, at: number): Suggestion[] {
    this.#take(files);
    const found = this.#service.getCompletionsAtPosition(PROJECT + path, at, {});
    return (found?.entries ?? []).map(({ name, kind, sortText }) => ({
      label: name,
      kind: KINDS[kind] ?? 'variable',
      isNear: sortText < GLOBAL_ORDER,
    }));
  }

  /** Explains a suggestion for the place; null if the name cannot stand there. */
  explain(files: CodeFiles, path: string, at: number, label: string): Explanation | null {
    this.#take(files);
    const name = PROJECT + path;
    const { getCompletionEntryDetails: detailsOf } = this.#service;
    const found = detailsOf(name, at, label, undefined, undefined, undefined, undefined);
    return found === undefined
      ? null
      : explanationOf(found.displayParts, found.documentation, found.tags);
  }

  /** Explains the name at an offset of a file; null without a name there. */
  describe(files: CodeFiles, path: string, at: number): Described | null {
    this.#take(files);
    const found = this.#service.getQuickInfoAtPosition(PROJECT + path, at);
    if (found === undefined) return null;
    const { textSpan, displayParts, documentation, tags } = found;
    return {
      from: textSpan.start,
      to: textSpan.start + textSpan.length,
      ...explanationOf(displayParts, documentation, tags),
    };
  }

  #take(files: CodeFiles): void {
    const named = new Map(Object.entries(files).map(([path, text]) => [PROJECT + path, text]));
    named.set(ENV_FILE, envText(Object.keys(files)));
    for (const path of this.#code.keys()) if (!named.has(path)) this.#code.delete(path);
    for (const [path, text] of named) {
      if (this.#code.get(path)?.text === text) continue;
      this.#versions += 1;
      this.#code.set(path, { text, version: this.#versions });
    }
  }

  #host(): ts.LanguageServiceHost {
    const textOf = (path: string) => this.#code.get(path)?.text ?? DECLARATIONS.get(path);
    return {
      getCompilationSettings: () => OPTIONS,
      getScriptFileNames: () => [...this.#code.keys(), GLOBALS_FILE],
      getScriptVersion: (path) => String(this.#code.get(path)?.version ?? 0),
      getScriptSnapshot: (path) => {
        const text = textOf(path);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => PROJECT,
      getDefaultLibFileName: () => `${LIBRARY_FOLDER}lib.esnext.d.ts`,
      fileExists: (path) => textOf(path) !== undefined,
      readFile: textOf,
    };
  }
}

/** Returns the declaration of `env`, with a namespace for each class that the main file exports. */
function envText(paths: readonly string[]): string {
  const stems = paths.map((path) => path.replace(/\.[jt]s$/, ''));
  const main = stems.length === 1 ? stems[0] : MAIN_NAMES.find((name) => stems.includes(name));
  if (main === undefined) return 'export {};';
  return `import type * as main from './${main}';
import type { Namespaces } from '${NAMESPACES_FILE}';
declare global {
  namespace Cloudflare {
    interface Env extends Namespaces<typeof main> {}
  }
}`;
}

function mistakeOf(path: string, { file, start = 0, length = 0, messageText }: ts.Diagnostic) {
  const { line, character } = file?.getLineAndCharacterOfPosition(start) ?? {
    line: 0,
    character: 0,
  };
  const message = messageOf(messageText).slice(0, LETTERS_MAX);
  return { path, line: line + 1, column: character, length, message };
}

/** The code of the message "Overload 1 of 2, …, gave the following error." */
const OVERLOAD_CODE = 2772;

/** Returns the message with its reason; if several overloads do not fit, the reason of the first. */
function messageOf(text: string | ts.DiagnosticMessageChain): string {
  if (typeof text === 'string') return text;
  const reason = text.next?.[0];
  if (text.code === OVERLOAD_CODE && reason !== undefined) return messageOf(reason);
  return reason === undefined ? text.messageText : `${text.messageText}\n${messageOf(reason)}`;
}

function explanationOf(
  declared: readonly ts.SymbolDisplayPart[] = [],
  documented: readonly ts.SymbolDisplayPart[] = [],
  tags: readonly ts.JSDocTagInfo[] = [],
): Explanation {
  const lines = tags.map(({ name, text }) => `@${name} ${ts.displayPartsToString(text)}`.trim());
  const text = [ts.displayPartsToString([...documented]), ...lines].filter((part) => part !== '');
  return {
    signature: ts.displayPartsToString([...declared]).slice(0, LETTERS_MAX),
    text: text.join('\n'),
  };
}

/** Maps TypeScript's kinds of names to those of a suggestion. All other kinds are variables. */
const KINDS: Readonly<Partial<Record<string, Suggestion['kind']>>> = {
  [ts.ScriptElementKind.classElement]: 'class',
  [ts.ScriptElementKind.constElement]: 'constant',
  [ts.ScriptElementKind.functionElement]: 'function',
  [ts.ScriptElementKind.localFunctionElement]: 'function',
  [ts.ScriptElementKind.keyword]: 'keyword',
  [ts.ScriptElementKind.memberFunctionElement]: 'method',
  [ts.ScriptElementKind.memberVariableElement]: 'property',
  [ts.ScriptElementKind.memberGetAccessorElement]: 'property',
  [ts.ScriptElementKind.interfaceElement]: 'type',
  [ts.ScriptElementKind.typeElement]: 'type',
  [ts.ScriptElementKind.alias]: 'variable',
};
