"use strict";
const stream = new EventSource("/v1/events");
const state = document.getElementById("state");
stream.onerror = () => { state.textContent = "No connection."; };
stream.addEventListener("metrics", (event) => {
  const found = JSON.parse(event.data);
  state.textContent = `${found.status.role}, event ${found.status.seq}`;
  document.getElementById("models").replaceChildren(...found.models.map((model) => {
    const row = document.createElement("tr");
    const error = model.last.error ?? model.last.absolute_error;
    for (const value of [model.model, model.learnt, error === null ? "" : error.toFixed(4), model.waiting]) {
      const cell = document.createElement("td");
      cell.textContent = value;
      row.append(cell);
    }
    return row;
  }));
});
