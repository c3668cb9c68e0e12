/* SPDX-License-Identifier: Apache-2.0 */
/* Light or dark, before anything is painted: as the system has it, until the reader chooses. */
(function () {
  'use strict';
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const root = document.documentElement;

  function follow() {
    if (!root.dataset.chosen)
      root.dataset.theme = dark.matches ? 'dark' : 'light';
  }
  dark.addEventListener('change', follow);
  follow();
})();
