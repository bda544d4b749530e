// The form by which a person signs in. After it the page is loaded again, as theirs.

import { useState } from 'react';
import { signIn } from './user.ts';

export function SignIn() {
  const [problem, setProblem] = useState('');
  const submit = async (given: FormData) => {
    try {
      await signIn(String(given.get('name')), String(given.get('password')));
      location.reload();
    } catch (error) {
      setProblem(String(error));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit(new FormData(event.currentTarget));
      }}
    >
      <input aria-label="Name" name="name" autoComplete="username" autoCapitalize="none" required />{' '}
      <input
        aria-label="Password"
        name="password"
        type="password"
        autoComplete="current-password"
        minLength={8}
        required
      />{' '}
      <button type="submit">Sign in</button>
      <p>A new name makes an account with this password.</p>
      {problem !== '' && <p role="alert">{problem}</p>}
    </form>
  );
}
