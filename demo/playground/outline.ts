// Reads the classes and methods of a file from its syntax tree, for the forms of the call panel.

import { javascriptLanguage, typescriptLanguage } from '@codemirror/lang-javascript';
import { shortened } from './calls.ts';

/** The kind of values that a parameter takes, judged by its type or its default. */
export type ParameterKind = 'number' | 'text' | 'any';

export interface Parameter {
  /** The parameter as it is written, without its type and default: `step`, `{ loud }`, `...items`. */
  readonly label: string;
  /** Whether the parameter takes any number of arguments. */
  readonly isRest: boolean;
  readonly kind: ParameterKind;
}

export interface Method {
  readonly name: string;
  /** The parameters in the order of the arguments. */
  readonly parameters: readonly Parameter[];
}

export interface ClassOutline {
  readonly name: string;
  readonly methods: readonly Method[];
}

/** How many methods of a class, and how many parameters of a method, get a form. */
const FORMS_MAX = 100;
export const PARAMETERS_MAX = 20;
/** How many letters the label of a parameter may have. */
const LABEL_MAX = 32;

type SyntaxNode = ReturnType<typeof javascriptLanguage.parser.parse>['topNode'];

/** The kinds of syntax node that a parameter can be. */
const PARAMETER_NODES = new Set(['VariableDefinition', 'ObjectPattern', 'ArrayPattern']);

/** The methods that get no form, because nobody calls them by name. */
const HANDLERS = new Set(['constructor', 'fetch', 'alarm']);

export function outlineOf(path: string, text: string): ClassOutline[] {
  const language = /\.[mc]?ts$/.test(path) ? typescriptLanguage : javascriptLanguage;
  const classes: { name: string; methods: Method[] }[] = [];
  const tree = language.parser.parse(text);
  tree.iterate({
    enter({ name: type, node }) {
      const word = (kind: string) => {
        const found = node.getChild(kind);
        return found === null ? '' : text.slice(found.from, found.to);
      };
      if (type === 'ClassDeclaration')
        classes.push({ name: word('VariableDefinition'), methods: [] });
      if (type !== 'MethodDeclaration') return;
      const name = word('PropertyDefinition');
      const head = text.slice(node.from, node.getChild('ParamList')?.from ?? node.from);
      const isHidden = /^(?:private|protected|static|get|set|override)\b/.test(head) || name === '';
      if (isHidden || HANDLERS.has(name) || name.startsWith('webSocket')) return false;
      const parameters = parametersOf(node.getChild('ParamList'), text);
      const methods = classes.at(-1)?.methods;
      if (methods !== undefined && methods.length < FORMS_MAX) methods.push({ name, parameters });
      return false;
    },
  });
  return classes;
}

function parametersOf(list: SyntaxNode | null, text: string): Parameter[] {
  const parameters: Parameter[] = [];
  let node = list?.firstChild ?? null;
  for (; node !== null && parameters.length < PARAMETERS_MAX; node = node.nextSibling) {
    if (!PARAMETER_NODES.has(node.name)) continue;
    const isRest = node.prevSibling?.name === 'Spread';
    const written = text.slice(node.from, node.to).replaceAll(/\s+/g, ' ');
    const label = shortened(`${isRest ? '...' : ''}${written}`, LABEL_MAX);
    parameters.push({ label, isRest, kind: isRest ? 'any' : kindOf(node, text) });
  }
  return parameters;
}

function kindOf(parameter: SyntaxNode, text: string): ParameterKind {
  let node = parameter.nextSibling;
  for (; node !== null && node.name !== ','; node = node.nextSibling) {
    const written = text.slice(node.from, node.to);
    if (node.name === 'TypeAnnotation') return KINDS.get(written.replace(/^:\s*/, '')) ?? 'any';
    if (node.name === 'Number') return 'number';
    if (node.name === 'String') return 'text';
  }
  return 'any';
}

const KINDS: ReadonlyMap<string, ParameterKind> = new Map([
  ['number', 'number'],
  ['string', 'text'],
]);
