// The classes and methods of a file, read from its syntax tree: the entries of the call panel.

import { javascriptLanguage, typescriptLanguage } from '@codemirror/lang-javascript';

export interface Method {
  readonly name: string;
  readonly parameters: readonly string[];
}

export interface ClassOutline {
  readonly name: string;
  readonly methods: readonly Method[];
}

/** Most methods of a class, and parameters of a method, that have a form. */
const FORMS_MAX = 100;
const PARAMETERS_MAX = 20;

/** Methods that nobody calls by name. */
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
      const list = node.getChild('ParamList');
      const named = list?.getChildren('VariableDefinition').slice(0, PARAMETERS_MAX) ?? [];
      const parameters = named.map(({ from, to }) => text.slice(from, to));
      const methods = classes.at(-1)?.methods;
      if (methods !== undefined && methods.length < FORMS_MAX) methods.push({ name, parameters });
      return false;
    },
  });
  return classes;
}
