// Without this every form works by its buttons. With it, a form whose answer is a picture is looked at as it is moved.
"use strict";
const live = document.querySelector("form[data-live]"), place = document.getElementById("live");
if (live) {
  let timer, asking, due = 0;
  live.querySelector(".show").hidden = true;
  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    const said = new URLSearchParams(new FormData(live));
    said.delete("number");
    said.set("part", "1");
    try {
      const found = await fetch(`${live.dataset.live}?${said}`, { signal: asking.signal });
      if (found.status === 204) return;
      place.innerHTML = await found.text();
      const at = place.querySelector("output[data-epsilon]");
      if (!at) return;
      const { place: slider, epsilon, was } = live.elements;
      if (document.activeElement !== epsilon) epsilon.value = at.dataset.epsilon;
      if (document.activeElement !== slider) slider.value = at.dataset.place;
      was.value = at.dataset.epsilon;
    } catch (error) { if (error.name !== "AbortError") throw error; }
  };
  live.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { due = performance.now() + 80; ask(); }, Math.max(0, due - performance.now()));
  });
}
const poll = document.querySelector("[data-poll]");
if (poll) setTimeout(() => location.replace(poll.dataset.poll), 700);
const gone = document.querySelector("[data-gone]");
if (gone) setTimeout(() => location.replace(gone.dataset.gone), 300000);
